// SPDX-License-Identifier: Apache-2.0
//
// Replaces the class that Verilator writes: it has the same ports, and eval() drives a simulator
// with four states (four_state.v), one process for each object. All memory is X at first, and so
// are all registers but one (at_first in ina_ingress has an initial value).
//
// From the end of the first reset on, an output may not be X when it is read: tready, tvalid, busy
// and the counters at any time, tlast and tkeep while tvalid is set, and each byte of tdata whose
// tkeep is set.

#ifndef INA_FOUR_STATE_VINA_TOP_H
#define INA_FOUR_STATE_VINA_TOP_H

#include "../bench.hpp"
#include "model/counters.h"

#include <string>
#include <sys/wait.h>
#include <unistd.h>

class Vina_top
{
      public:
	static constexpr unsigned PORTS = INA_PORT_COUNT;
	static constexpr unsigned WORDS = PORTS * bench::BEAT_BYTES / 4;

	uint8_t clk = 0, rst = 0, age = 0, tick = 0, patience = 0, busy = 0;
	uint8_t place_level = 0, place_uplinks = 0;
	uint64_t place_id = 0;
	uint8_t quota = 0;          // the class does not pass it to the simulator
	uint8_t vlan_quota = 0;     // not passed either
	uint64_t port_priority = 0; // not passed either
	uint8_t trusted_ports = 0;  // not passed either
	uint8_t s_axis_tvalid = 0, s_axis_tready = 0, s_axis_tlast = 0;
	uint8_t m_axis_tvalid = 0, m_axis_tready = 0, m_axis_tlast = 0;
	uint32_t s_axis_tdata[WORDS] = {}, m_axis_tdata[WORDS] = {};
	uint32_t s_axis_tkeep[PORTS * 2] = {}, m_axis_tkeep[PORTS * 2] = {};
	uint32_t counters[INA_COUNTER_COUNT * 2] = {};

	Vina_top()
	{
		int in[2], out[2];

		CHECK(pipe(in) == 0 && pipe(out) == 0, "no pipes");
		std::fflush(stdout);
		simulator = fork();
		CHECK(simulator >= 0, "no process for vvp");
		if (simulator == 0) {
			dup2(in[0], 0);
			dup2(out[1], 1);
			for (int fd : {in[0], in[1], out[0], out[1]})
				close(fd);
			execlp("vvp", "vvp", "-n", INA_FOUR_STATE, static_cast<char *>(nullptr));
			_exit(127);
		}
		close(in[0]);
		close(out[1]);
		to = fdopen(in[1], "w");
		from = fdopen(out[0], "r");
		CHECK(to && from, "no streams");
	}
	~Vina_top()
	{
		std::fclose(to);
		std::fclose(from);
		waitpid(simulator, nullptr, 0);
		std::free(line);
	}
	Vina_top(const Vina_top &) = delete;
	Vina_top &operator=(const Vina_top &) = delete;

	void eval()
	{
		send();
		receive();
		has_been_reset |= !rst;
	}

      private:
	pid_t simulator;
	FILE *to, *from;
	char *line = nullptr;
	size_t line_size = 0;
	bool has_been_reset = false;
	uint64_t evaluations = 0;

	void send()
	{
		std::string text;

		for (unsigned bit : {clk, rst, age, tick, patience})
			text += bit ? "1 " : "0 ";
		char place[24];

		std::snprintf(place, sizeof(place), "%x %x %llx ", place_level, place_uplinks,
		              static_cast<unsigned long long>(place_id));
		text += place;
		for (unsigned bits : {m_axis_tready, s_axis_tvalid, s_axis_tlast}) {
			for (unsigned p = PORTS; p-- > 0;)
				text += bits >> p & 1 ? '1' : '0';
			text += ' ';
		}
		if (s_axis_tvalid) {
			add_hex(text, s_axis_tdata, WORDS);
			add_hex(text, s_axis_tkeep, PORTS * 2);
		}
		text += '\n';
		CHECK(std::fputs(text.c_str(), to) >= 0 && std::fflush(to) == 0,
		      "vvp %s takes nothing: is iverilog installed?", INA_FOUR_STATE);
	}

	static void add_hex(std::string &text, const uint32_t *words, unsigned count)
	{
		char digits[9];

		while (count-- > 0) {
			std::snprintf(digits, sizeof(digits), "%08x", words[count]);
			text += digits;
		}
		text += ' ';
	}

	void receive()
	{
		evaluations++;
		CHECK(getline(&line, &line_size, from) > 0,
		      "vvp %s has ended: is iverilog installed?", INA_FOUR_STATE);
		CHECK(std::strncmp(line, "an X ", 5) != 0, "evaluation %llu: %s",
		      static_cast<unsigned long long>(evaluations), line);
		std::vector<std::string> words;

		for (char *rest = line, *word; (word = strtok_r(rest, " \n", &rest));)
			words.push_back(word);
		CHECK(words.size() >= 4 && words[0].size() == 1 && words[1].size() == PORTS, "%s",
		      line);
		busy = bits_of("busy", words[0], true);
		s_axis_tready = bits_of("s_axis_tready", words[1], true);
		m_axis_tvalid = bits_of("m_axis_tvalid", words[2], true);
		m_axis_tlast = bits_of("m_axis_tlast", words[3], false);
		for (size_t i = 4; i < words.size();) {
			if (words[i] == "beats") {
				beats(words[3], words.at(i + 1), words.at(i + 2));
				i += 3;
			} else {
				CHECK(words[i] == "counters", "%s", line);
				read_hex("counters", words.at(i + 1), counters,
				         INA_COUNTER_COUNT * 2, nullptr);
				i += 2;
			}
		}
	}

	/// The value of one bit for each port, or of a single bit. An X that is not read counts as
	/// 0.
	uint8_t bits_of(const char *what, const std::string &text, bool is_seen) const
	{
		unsigned bits = 0;

		for (char digit : text) {
			CHECK(digit == '0' || digit == '1' || !is_seen || !has_been_reset,
			      "evaluation %llu: %s is %s",
			      static_cast<unsigned long long>(evaluations), what, text.c_str());
			bits = bits << 1 | (digit == '1');
		}
		return static_cast<uint8_t>(bits);
	}

	/// In each digit, only the bits that are set in `seen` are read.
	void read_hex(const char *what, const std::string &text, uint32_t *words, unsigned count,
	              const std::vector<bool> *seen) const
	{
		CHECK(text.size() == count * 8, "%s has %zu digits", what, text.size());
		std::fill(words, words + count, 0);
		for (size_t i = 0; i < text.size(); i++) {
			const size_t digit = text.size() - 1 - i; // digit 0 is the lowest
			const char *const digits = "0123456789abcdef";
			const char *const at = std::strchr(digits, text[i]);

			CHECK(at || !has_been_reset || (seen && !(*seen)[digit]),
			      "evaluation %llu: %s has an X in bits %zu to %zu: %s",
			      static_cast<unsigned long long>(evaluations), what, digit * 4,
			      digit * 4 + 3, text.c_str());
			words[digit / 8] |= static_cast<uint32_t>(at ? at - digits : 0)
			                    << digit % 8 * 4;
		}
	}

	void beats(const std::string &last, const std::string &data, const std::string &keep)
	{
		std::vector<bool> valid(PORTS * 16), kept(PORTS * 128);

		for (size_t i = 0; i < valid.size(); i++)
			valid[i] = m_axis_tvalid >> i / 16 & 1;
		read_hex("m_axis_tkeep", keep, m_axis_tkeep, PORTS * 2, &valid);
		for (size_t i = 0; i < kept.size(); i++)
			kept[i] = valid[i / 8] && (m_axis_tkeep[i / 64] >> i / 2 % 32 & 1);
		read_hex("m_axis_tdata", data, m_axis_tdata, WORDS, &kept);
		for (unsigned p = 0; p < PORTS; p++)
			if (m_axis_tvalid >> p & 1)
				bits_of("m_axis_tlast", last.substr(PORTS - 1 - p, 1), true);
	}
};

#endif
