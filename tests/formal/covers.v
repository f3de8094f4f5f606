// SPDX-License-Identifier: Apache-2.0
//
// A cover statement is reached where the assertion of its opposite fails.

(* techmap_celltype = "$cover" *)
module cover_as_assert (
    input A,
    input EN
);
  \$assert _TECHMAP_REPLACE_ (.A(~A), .EN(EN));
endmodule
