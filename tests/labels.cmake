# SPDX-License-Identifier: Apache-2.0
#
# ina_label_tests(): labels for the tests of a folder, by their names, and which of them run alone. Each
# folder calls it last.
#
#   unit     no hosts and no simulated RTL
#   rtl      Verilated modules, lint, synthesis, proofs
#   lab      boots hosts. In real time they keep a small machine busy: such a test runs alone
#   virtual  all its labs run in virtual time, with one processor each: such tests run next to others
#
# `make test` leaves out the next four; `make test-all` has them.
#
#   torch    PyTorch on hosts, and on this machine
#   mpi      programs of two MPIs on hosts, and on this machine
#   long     the longest, nearly half of the total time: .ci/run leaves out these three
#   wide     more of what other tests cover once: further paths, sizes and faults; the units under sanitizers
#
#   slow     more than a minute on two cores
#   quick    make test-quick: a cross-section
set(INA_LABELS_rtl "^(rtl|formal)\\.|^fuzz\\.rtl$")
set(INA_LABELS_lab "^(lab|lab\\.(scale|qemu|qemu_checks|qemu_real_network)|torture|torture\\.[0-9]+|soak)$|^hostlib\\.(lab|memcheck)\\.|^allreduce\\.(lab|demo|doctor)$|^system\\.|^(torch|torch_python|mpi)$")
set(INA_LABELS_torch "^torch(_python|_here)?$")
set(INA_LABELS_mpi "^mpi(_here)?$")
set(INA_LABELS_virtual
  "^lab\\.scale$|^torture\\.[0-9]+$|^hostlib\\.lab\\.(lateness|lateness_leaves|hiccups_.*|poll_.*|order|interrupted|given_up|options|fork_.*|mismatch_.*|collectives_.*|abort_.*|buffers_.*|channels_.*|.*_channels)$|^system\\.(virtual_time|retries|fabric|parallel|places|scale|figures|dead_hosts|changes|congestion|channels|turns|vlans|network_options)$|^allreduce\\.doctor$")
set(INA_LABELS_long
  "^system\\.(parallel|places|channels|changes|dead_hosts|memory|scale|turns)$|^fabric\\.weaker\\.|^lab(\\.(scale|qemu_checks|qemu_real_network))?$|^allreduce\\.doctor$")
set(INA_LABELS_wide
  "^sanitized\\.|^system\\.(vlans|sums)$|^allreduce\\.lab$|^rtl\\.ina_(load|top)\\.size"
  "|^hostlib\\.lab\\.(huge|numbers_machines|reset_(lossy|small|burst)|mismatch_(channels|machines|ring|collectives_.*)|steady_channels"
  "|collectives_(reset|channels_.*|thread_machines)|channels_(in_turn_reset|returns)|abort_(machines|channels)|buffers_(limited_ring|ring)|poll_machines)$")
string(CONCAT INA_LABELS_wide ${INA_LABELS_wide})
set(INA_LABELS_slow "^(lab|torture|torch|torch_python|mpi|hostlib\\.lab\\.huge|rtl\\.synth)$|^system\\.")
set(quick_modules "parse|check|pass|judge|resend|merge|rebuild|trailer|payload_crc|fifo|counters|tree\\.ports4")
string(CONCAT INA_LABELS_quick
  "^(common|wire|model|sim-bridge|protocol|planner)\\.|^(docs|layers|lint)$|^hostlib\\.[a-z_0-9]+$|^allreduce\\.(cost_model|demo_errors|options|pattern|resnet50)$"
  "|^rtl\\.ina_(${quick_modules}|(flows|jobs|pick|queue|history)\\.3\\.20|top\\.ports2)$|^rtl\\.lint\\.ports2$"
  "|^hostlib\\.lab\\.(api_model|api_ring|fixed_point_rtl|lateness)$")

function(ina_label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    set(labels "")
    foreach(label IN ITEMS rtl lab virtual torch mpi long wide slow quick)
      if(test MATCHES "${INA_LABELS_${label}}")
        list(APPEND labels ${label})
      endif()
    endforeach()
    if(NOT "rtl" IN_LIST labels AND NOT "lab" IN_LIST labels)
      list(APPEND labels unit)
    endif()
    set(alone OFF)
    if("lab" IN_LIST labels AND NOT "virtual" IN_LIST labels)
      set(alone ON)
    endif()
    # The longest tests begin first, so that none runs alone at the end. From the second run on ctest knows
    # the times itself.
    set(cost 0)
    if("slow" IN_LIST labels AND "virtual" IN_LIST labels)
      set(cost 1000)
    endif()
    set_tests_properties(${test} PROPERTIES LABELS "${labels}" RUN_SERIAL ${alone} COST ${cost})
  endforeach()
endfunction()
