# SPDX-License-Identifier: Apache-2.0
#
# ina_label_tests(): labels for the tests of a folder, by their names. Each folder calls it last.
#
#   unit     no hosts and no simulated RTL
#   rtl      Verilated modules, lint, synthesis, proofs
#   lab      boots hosts, so one at a time
#   virtual  some of its labs run in virtual time
#   slow     more than a minute on two cores
#   quick    make test-quick: a cross-section
set(INA_LABELS_rtl "^(rtl|formal)\\.|^fuzz\\.rtl$")
set(INA_LABELS_lab "^(lab|torture|soak)$|^hostlib\\.(lab|memcheck)\\.|^allreduce\\.(lab|doctor)$|^system\\.")
set(INA_LABELS_virtual
  "^(lab|torture|hostlib\\.lab\\.lateness)$|^system\\.(virtual_time|sums|figures|lateness|fallback|parallel|dead_hosts)$")
set(INA_LABELS_slow "^(lab|torture|hostlib\\.lab\\.huge|rtl\\.synth)$|^system\\.")
set(quick_modules "parse|check|pass|judge|resend|merge|rebuild|trailer|payload_crc|fifo|counters|tree\\.ports4")
string(CONCAT INA_LABELS_quick
  "^(common|wire|model|sim-bridge|protocol)\\.|^(docs|layers)$|^hostlib\\.[a-z_0-9]+$|^allreduce\\.(cost_model|options|pattern|resnet50)$"
  "|^rtl\\.ina_(${quick_modules}|(flows|jobs|pick|queue|history)\\.3\\.20|top\\.ports2)$|^rtl\\.lint\\.ports2$"
  "|^hostlib\\.lab\\.(api_model|api_ring|fixed_point_rtl|lateness)$")

function(ina_label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    set(labels "")
    foreach(label IN ITEMS rtl lab virtual slow quick)
      if(test MATCHES "${INA_LABELS_${label}}")
        list(APPEND labels ${label})
      endif()
    endforeach()
    if(NOT "rtl" IN_LIST labels AND NOT "lab" IN_LIST labels)
      list(APPEND labels unit)
    endif()
    set_tests_properties(${test} PROPERTIES LABELS "${labels}")
  endforeach()
endfunction()
