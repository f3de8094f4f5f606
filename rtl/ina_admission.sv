// SPDX-License-Identifier: Apache-2.0
//
// A JOIN stops its port's ingress (en = 0) from the clock in which it comes to the judge. If its
// iCRC is wrong or its flow is known, it does not ask, and the ingress stops for one clock.
// Otherwise it waits until ina_jobs has answered and the flow is learned. The judge decides it in
// the clock after the answer. It leaves with en in the next clock, in which `settled` says that it
// has been decided.
//
// Any packet stops the ingress while its key is compared with those of flows of other ports
// (ina_elsewhere). During that time a JOIN does not ask. If it has asked before, it may stop
// asking.

`default_nettype none

module ina_admission #(
    parameter int JOB_W = 1
) (
    input  logic clk,
    input  logic rst,
    output logic en,  // the ingress may advance; a register

    input  logic next_join,   // a JOIN moves to the judge in this clock of en
    input  logic next_alike,  // a packet that needs a comparison does
    input  logic searching,   // the comparison is under way
    input  logic s_ok,        // the packet at the judge has a right iCRC
    input  logic hit,         // the packet at the judge has a flow, here or elsewhere

    output logic             ask_valid,
    input  logic             answer_valid,  // only to a port that asks
    input  logic             answer_granted,
    input  logic             answer_held,
    input  logic [JOB_W-1:0] answer_job,
    output logic             learn,  // learn its flow, for answer_job

    output logic             answered,  // the JOIN is taken, held (dropped) or passed in this clock
    output logic             granted,   // valid with answered, like held and granted_job
    output logic             held,
    output logic [JOB_W-1:0] granted_job,
    output logic             settled    // the JOIN has been decided
);
  logic is_join;
  logic asks;

  assign asks      = !en && is_join && s_ok && !hit;
  assign ask_valid = asks && !answered && !searching;
  assign learn     = answer_valid && answer_granted;

  always_ff @(posedge clk) begin
    en       <= en ? !(next_join || next_alike) : !(asks || searching) || answered;
    if (en) is_join <= next_join;
    answered <= answer_valid;
    settled  <= answered;
    if (answer_valid) begin
      granted     <= answer_granted;
      held        <= answer_held;
      granted_job <= answer_job;
    end
    if (rst) begin
      en       <= 1'b1;
      answered <= 1'b0;
      settled  <= 1'b0;
    end
  end

endmodule

`default_nettype wire
