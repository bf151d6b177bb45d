#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/launch/run.sh BUILD
# Jobs started by launchers as they are: mpirun of Open MPI, srun of Slurm with daemons of its own on the loopback, mpirun
# over two network namespaces as two hosts.  Prints a line a test and ends with "N passed, N failed, N skipped".
set -u
build=$(realpath "${1:?usage: tests/launch/run.sh BUILD}")
cd "$(dirname "$0")" || exit 1
ring=$build/examples/ring
stage=$(mktemp -d) || exit 1
chmod 755 "$stage"
hosts=("p3left$$" "p3right$$") # network namespaces
passed=0 failed=0 skipped=0

# shellcheck source=tests/launch/slurm.sh
. ./slurm.sh

clean_up()
{
	slurm_stop
	ip netns delete "${hosts[0]}" 2>/dev/null
	ip netns delete "${hosts[1]}" 2>/dev/null
	rm -rf "$stage"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

check() # NAME FUNCTION ARGUMENT...
{
	local name=$1
	shift
	if "$@" >"$stage/log" 2>&1 </dev/null; then
		echo "ok   $name"
		passed=$((passed + 1))
	else
		cat "$stage/log"
		echo "FAIL $name"
		failed=$((failed + 1))
	fi
}

skip() # NAME REASON
{
	echo "skip $1: $2"
	skipped=$((skipped + 1))
}

run() # COMMAND...: its output goes to $stage/out too
{
	timeout --kill-after=5 60 "$@" 2>&1 | tee "$stage/out"
	return "${PIPESTATUS[0]}"
}

# Every rank of a job of N has had the token, each once.
goes_round() # N COMMAND...
{
	local ranks=$1 rank
	shift
	run "$@" || return 1
	for ((rank = 0; rank < ranks; rank++)); do
		[ "$(grep -c "rank $rank of $ranks,.* has the token" "$stage/out")" -eq 1 ] || return 1
	done
}

# N processes, each of which believes that it is alone.
alone() # N COMMAND...
{
	local processes=$1
	shift
	run "$@" && [ "$(grep -c 'rank 0 of 1,.* has the token' "$stage/out")" -eq "$processes" ]
}

fails_with() # TEXT COMMAND...
{
	local text=$1
	shift
	! run "$@" && grep -qFe "$text" "$stage/out" && ! grep -q 'has the token' "$stage/out"
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PTL_LOG=info # examples do not print why a call failed; the library then does

mpirun_tests()
{
	local transport ranks late launcher=(mpirun --oversubscribe -x PTL_IFACE -x PTL_LOG)
	# shellcheck disable=SC2016 # for the shell that mpirun starts
	late='sleep $OMPI_COMM_WORLD_RANK; exec "$0"'
	for ranks in 2 4; do
		check "mpirun -n $ranks" goes_round $ranks "${launcher[@]}" -n $ranks "$ring"
	done
	for transport in node ofi:tcp ofi:net; do
		check "mpirun -n 4 over $transport" \
			goes_round 4 "${launcher[@]}" -x PTL_TRANSPORT=$transport -n 4 "$ring"
	done
	check "mpirun, ranks that come one after the other" \
		goes_round 3 "${launcher[@]}" -n 3 bash -c "$late" "$ring"
	check "mpirun, children of processes that have done with Portals" run "${launcher[@]}" -n 2 "$build/tests/launched-forks"
	check "PTL_LAUNCH=none: jobs of one" alone 2 "${launcher[@]}" -x PTL_LAUNCH=none -n 2 "$ring"
}

without_launcher_tests()
{
	check "nobody launched it: a job of one" alone 1 "$ring"
	check "a launcher that does not answer is an error, not a job of one" \
		fails_with "PMIx server cannot be reached" env PMIX_RANK=0 PMIX_NAMESPACE=nowhere "$ring"
	check "a launcher without PMIx is an error, not N jobs of one" \
		fails_with "offers no PMIx" env PMI_SIZE=2 PMI_RANK=0 "$ring"
}

slurm_tests()
{
	local ranks late
	slurm_start "$stage/slurm" || { skip "srun" "$slurm_why_not"; return; }
	# shellcheck disable=SC2016 # for the shell that srun starts
	late='sleep $SLURM_PROCID; exec "$0"'
	for ranks in 2 4; do
		check "srun --mpi=pmix -n $ranks" goes_round $ranks srun --mpi=pmix -n $ranks "$ring"
	done
	check "srun, ranks that come one after the other" goes_round 3 srun --mpi=pmix -n 3 bash -c "$late" "$ring"
	check "srun without PMIx is an error, not N jobs of one" \
		fails_with "--mpi=pmix" srun --mpi=none -n 2 "$ring"
	slurm_stop
}

# Two hosts: mpirun runs on the left one, and reaches the right one by entering its namespace instead of by ssh.
make_hosts()
{
	ip netns add "${hosts[0]}" && ip netns add "${hosts[1]}" &&
		ip link add p3l netns "${hosts[0]}" type veth peer name p3r netns "${hosts[1]}" &&
		ip -n "${hosts[0]}" address add 10.93.7.1/24 dev p3l && ip -n "${hosts[0]}" link set p3l up &&
		ip -n "${hosts[1]}" address add 10.93.7.2/24 dev p3r && ip -n "${hosts[1]}" link set p3r up &&
		ip -n "${hosts[0]}" link set lo up && ip -n "${hosts[1]}" link set lo up
}

hosts_tests()
{
	local transport
	[ "$(id -u)" -eq 0 ] || { skip "mpirun over two hosts" "network namespaces need root"; return; }
	make_hosts || { skip "mpirun over two hosts" "this kernel makes no network namespaces"; return; }
	printf '#!/bin/sh\nshift\nexec ip netns exec %s /bin/sh -c "$*"\n' "${hosts[1]}" >"$stage/enter"
	chmod +x "$stage/enter"
	for transport in auto ofi:tcp; do
		check "mpirun -n 4 over two hosts, $transport" goes_round 4 env -u PTL_IFACE ip netns exec "${hosts[0]}" \
			mpirun --oversubscribe -H 10.93.7.1:2,10.93.7.2:2 --mca plm_rsh_agent "$stage/enter" \
			--mca oob_tcp_if_include 10.93.7.0/24 --mca btl self,tcp -x PTL_LOG \
			-x PTL_TRANSPORT=$transport -n 4 "$ring"
	done
}

export PTL_IFACE=lo
without_launcher_tests
mpirun_tests
hosts_tests
slurm_tests
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
