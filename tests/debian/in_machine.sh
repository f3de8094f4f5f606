#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# On a machine with systemd: installs the packages next to this file, runs ina-bridge as a service between two veth pairs, runs two
# ranks next to an rdma_rxe device, and purges the packages. service.sh calls it.

set -eu
cd "$(dirname "$0")"

fail() {
	echo "in_machine: $*"
	systemctl status --no-pager --lines=20 ina-bridge || true
	exit 1
}

property() {
	systemctl show --property="$1" --value ina-bridge
}

connects() {
	# Nobody listens, and the answer that says so has crossed the switch too.
	(exec 3<>/dev/tcp/10.77.0.2/9) 2>&1 | grep -q "Connection refused"
}

ip netns add other
for i in 0 1; do
	ip link add port$i type veth peer host$i
	ip link set port$i up
done
ip link set host1 netns other
ip addr add 10.77.0.1/24 dev host0
ip link set host0 up
ip -n other addr add 10.77.0.2/24 dev host1
ip -n other link set host1 up

dpkg --install ./*.deb
[ "$(systemctl is-enabled ina-bridge)" = disabled ] || fail "enabled by the installation"
[ "$(property ActiveState)" = inactive ] || fail "started by the installation"

# systemctl start waits for READY=1.
sed -i 's/eth1/port0/; s/eth2/port1/' /etc/ina/bridge.json
systemctl start ina-bridge || fail "it does not start"
pid=$(property MainPID)
[ "$(stat -c %u "/proc/$pid")" -ge 61184 ] || fail "it runs as $(stat -c %U "/proc/$pid") and not as a dynamic user"
connects || fail "no frame crosses the switch"
ina-ctl ports | grep port1 || fail "ina-ctl ports shows no port1"
systemctl reload ina-bridge || fail "it does not read its configuration again"
[ "$(property MainPID)" = "$pid" ] || fail "the reload restarted it"

modprobe rdma_rxe
rdma link add rxe0 type rxe netdev host0
export INA_RANKS=2 INA_ROOT=10.77.0.1
INA_RANK=1 timeout 60 ina-perf -e 4096 &
INA_RANK=0 timeout 60 ina-perf -e 4096 || fail "two ranks on this machine do not add"
wait $! || fail "rank 1 failed"

dpkg --install ./ina-bridge_*.deb
[ "$(property ActiveState)" = active ] || fail "not running after an upgrade"
[ "$(property MainPID)" != "$pid" ] || fail "an upgrade does not restart it"
grep -q port0 /etc/ina/bridge.json || fail "an upgrade replaces the edited configuration"

systemctl stop ina-bridge
[ "$(property Result) $(property ExecMainStatus)" = "success 0" ] || fail "it does not stop cleanly"
systemctl enable --now ina-bridge || fail "it does not start again"

dpkg --remove ina-bridge ina-tools libina0
[ "$(property ActiveState)" = inactive ] || fail "it runs on after its removal"
dpkg --purge ina-bridge ina-tools libina0
left=$(find / -xdev \( -name '*ina-bridge*' -o -name 'libina.*' -o -path /etc/ina \) ! -path '/root/*')
[ -z "$left" ] || fail "left after a purge: $left"
! grep ina-bridge /etc/passwd /etc/group || fail "a user is left after a purge"
echo "in_machine: all passed"
