// SPDX-License-Identifier: Apache-2.0
//
// A JOIN stops its port's ingress (en = 0) from the clock in which it comes to the judge. If its
// iCRC is wrong or its flow is known it asks for nothing, and the ingress stands still for one
// clock. Else it waits until ina_jobs has answered and the flow is learned. It is decided in the
// clock after the answer and leaves with en in the next one, where `settled` says that it has been
// decided.
//
// Any packet stops the ingress while ina_elsewhere compares its key with flows of other ports. A
// JOIN does not ask meanwhile; if it has asked, it may stop.

`default_nettype none

module ina_admission #(
    parameter int JOB_W = 1
) (
    input  logic clk,
    input  logic rst,
    output logic en,  // the ingress may advance; a register

    input  logic next_join,   // a JOIN comes to the judge with this clock of en
    input  logic next_alike,  // ... a packet whose key must be compared
    input  logic searching,   // that is done now
    input  logic s_ok,        // the packet there has a right iCRC
    input  logic hit,         // ... and a flow, here or elsewhere

    output logic             ask_valid,
    input  logic             answer_valid,  // only to one that asks
    input  logic             answer_granted,
    input  logic             answer_held,
    input  logic [JOB_W-1:0] answer_job,
    output logic             learn,  // its flow, for answer_job

    output logic             answered,  // now it is taken, dropped (held), or passes
    output logic             granted,   // with answered
    output logic             held,
    output logic [JOB_W-1:0] granted_job,
    output logic             settled    // it has been decided
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
