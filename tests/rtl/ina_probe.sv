// SPDX-License-Identifier: Apache-2.0
//
// Prints the signals of the waveforms in README.md, one line a clock (scripts/waveforms.py).

`default_nettype none

module ina_probe (
    input logic clk
);
  `define PORT0 ina_top.gen_port[0].port
  `define PORT1 ina_top.gen_port[1].port

  always_ff @(posedge clk)
    $display("@",
        " in0=%b", ina_top.s_axis_tvalid[0] && ina_top.s_axis_tready[0],
        " in1=%b", ina_top.s_axis_tvalid[1] && ina_top.s_axis_tready[1],
        " checked0=%b", `PORT0.ingress.checked_valid,
        " en0=%b", `PORT0.ingress.en,
        " ask0=%b", `PORT0.ask_valid,
        " ask1=%b", `PORT1.ask_valid,
        " answer0=%b", `PORT0.answer_valid,
        " answer1=%b", `PORT1.answer_valid,
        " job_valid=%b", ina_top.job_valid[0],
        " job_complete=%b", ina_top.job_complete[0],
        " write0=%b", `PORT0.write_valid,
        " commit0=%b", `PORT0.commit_valid,
        " commit1=%b", `PORT1.commit_valid,
        " distance0=%0d", $signed(`PORT0.ingress.judge.distance),
        " decide0=%b", `PORT0.ingress.judge.decide,
        " resend0=%b", `PORT0.ingress.judge.resend_valid,
        " join_pick=%b", ina_top.join_pick_valid,
        " join=%b", ina_top.paths.join_valid,
        " sum=%b", ina_top.paths.sum_valid,
        " relay_pick=%b", ina_top.relay_pick_valid,
        " kind=%0d", ina_top.relay_pick_kind,
        " history=%b", ina_top.paths.history_read,
        " relay=%b", ina_top.paths.relay_valid,
        " out0=%b", ina_top.m_axis_tvalid[0],
        " out1=%b", ina_top.m_axis_tvalid[1]);

endmodule

bind ina_top ina_probe probe (.clk);

`default_nettype wire
