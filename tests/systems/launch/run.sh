#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/launch/run.sh BUILD
# Jobs started by launchers as they are: mpirun of Open MPI, srun of Slurm with daemons of its own on the loopback, mpirun
# over two network namespaces as two hosts.  Prints a line a test and ends with "N passed, N failed, N skipped".
set -u
build=$(realpath "${1:?usage: tests/systems/launch/run.sh BUILD}")
cd "$(dirname "$0")" || exit 1
ring=$build/examples/ring job=$build/tests/job
stage=$(mktemp -d) || exit 1
chmod 755 "$stage"
hosts=("p3left$$" "p3right$$") # network namespaces

# shellcheck source=tests/ci/tally.sh
. ../../ci/tally.sh
# shellcheck source=tests/systems/launch/slurm.sh
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

run() # COMMAND...: its output goes to $stage/out too
{
	timeout --kill-after=5 240 "$@" 2>&1 | tee "$stage/out"
	return "${PIPESTATUS[0]}"
}

# Every rank of a job of N prints a line, each once; EXPRESSION is what follows "rank R of N", RANK in it R.
each_says() # EXPRESSION N COMMAND...
{
	local says=$1 ranks=$2 rank
	shift 2
	run "$@" || return 1
	for ((rank = 0; rank < ranks; rank++)); do
		[ "$(grep -c "rank $rank of $ranks${says//RANK/$rank}" "$stage/out")" -eq 1 ] || return 1
	done
}

goes_round() # N COMMAND...: the token of examples/ring
{
	each_says ",.* has the token" "$@"
}

is_done() # N COMMAND...: tests/systems/launch/job.c
{
	each_says ": done" "$@"
}

# The last of N processes of tests/systems/launch/job.c waits for a sign of the first.
comes_late() # N COMMAND...
{
	rm -f "$stage/sign" && mkfifo "$stage/sign" && is_done "$@" late "$stage/sign"
}

# One job, not N: its first rank alone prints a line with PATTERN.
says_once() # PATTERN COMMAND...
{
	local pattern=$1
	shift
	run "$@" && [ "$(grep -c "$pattern" "$stage/out")" -eq 1 ]
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

# What a launcher's processes do when their network chooses its addresses: tcp and net are told to.
published_tests() # NAME COMMAND...; the command is to be followed by -n and the program
{
	local name=$1 transport ranks what
	shift
	for transport in ofi:tcp ofi:net; do
		export PTL_ADDRESSES=published PTL_TRANSPORT=$transport
		for ranks in 2 4; do
			check "$name -n $ranks over $transport, published addresses" is_done $ranks "$@" -n $ranks "$job" exchange
		done
		for what in again fork nobody; do
			check "$name over $transport, published addresses: $what" is_done 3 "$@" -n 3 "$job" $what
		done
		PTL_CONNECT_TIMEOUT=3s check "$name over $transport, published addresses: one comes late" \
			comes_late 3 "$@" -n 3 "$job"
	done
	unset PTL_ADDRESSES PTL_TRANSPORT
}

# ptlbench of N processes prints one table; what more is to be said: TEXT.
one_table() # TEXT N TEST...
{
	local text=$1 ranks=$2
	shift 2
	run mpirun --oversubscribe -x PTL_IFACE -n "$ranks" "$build/bench/ptlbench" "$@" --iterations 20 || return 1
	[ "$(grep -c '^# version' "$stage/out")" -eq 1 ] && grep -qFe "$text" "$stage/out" && ! grep -q improperly "$stage/out"
}

bench_tests()
{
	local transport pair=(put-latency --sizes 8 --repeat 1)
	[ -x "$build/bench/ptlbench" ] || { skip "mpirun ptlbench" "ptlbench was not built"; return; }
	for transport in node ofi:tcp ofi:net; do
		check "mpirun -n 2 ptlbench measures one pair over $transport" \
			one_table "job: rank 0 of 2" 2 "${pair[@]}" --transport $transport
	done
	check "mpirun -n 2 ptlbench, with raw libfabric" one_table "ours/raw" 2 "${pair[@]}" --transport ofi:tcp --raw msg
	check "mpirun -n 3 ptlbench: a rank is left over" one_table "rank 2 of 3 has nothing to do" 3 "${pair[@]}"
	check "mpirun -n 2 ptlbench: a test of one process" one_table "rank 1 of 2 has nothing to do" 2 open
	check "mpirun -n 2 ptlbench: a test that forks" one_table "rank 1 of 2 has nothing to do" 2 "${pair[@]}" --raw slots
	check "mpirun -n 1 ptlbench forks its pair" one_table "# pinning: initiator" 1 "${pair[@]}"
}

# Each run is a new job, because what is tested happens once in a process.
first_puts_arrive() # RUNS ARGUMENT... -- COMMAND...
{
	local runs=$1 arguments=() i
	shift
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	shift
	for ((i = 0; i < runs; i++)); do
		is_done 2 "$@" -n 2 "$build/tests/launched-first" "${arguments[@]}" || return 1
	done
}

first_put_tests() # COMMAND...
{
	local runs=6 mode transport
	[ "${PORTALS_TEST_NIGHTLY:-no}" = no ] || runs=1000
	check "mpirun: PtlGetRankId, attach, put, $runs times with PTL_HOLD=1" \
		first_puts_arrive $runs -- "$@" -x PTL_HOLD=1
	check "mpirun: a first put behind cnos_barrier()" first_puts_arrive 1 cnos -- "$@"
	for mode in shared dedicated host; do
		for transport in node ofi:tcp; do
			check "mpirun: a first put behind a fence, $mode over $transport" \
				first_puts_arrive 1 fence -- "$@" -x PTL_NIC_MODE=$mode -x PTL_TRANSPORT=$transport
		done
	done
}

# Tests of examples/minimpi and a program that its compiler script makes: the same binaries as without a launcher.
mpi_tests() # NAME COMMAND...; the command is to be followed by -n and the program
{
	local name=$1 ranks
	shift
	[ -x "$build/examples/minimpi/minimpicc" ] || { skip "$name: programs of MPI" "examples were not built"; return; }
	check "$name: minimpicc makes a program" "$build/examples/minimpi/minimpicc" -O2 -o "$stage/mpi-ring" \
		../../../examples/minimpi/programs/ring.c
	for ranks in 2 4; do
		check "$name -n $ranks, a program of MPI" says_once "^$ranks ranks, token " "$@" -n $ranks "$stage/mpi-ring"
	done
	check "$name -n 4, each call of MPI" says_once "^[0-9]* passed, 0 failed, 0 skipped" "$@" -n 4 "$build/tests/mpi-test"
}

mpirun_tests()
{
	local transport ranks late what launcher=(mpirun --oversubscribe -x PTL_IFACE)
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
	first_put_tests "${launcher[@]}"
	check "mpirun, children of processes that have done with Portals" run "${launcher[@]}" -n 2 "$build/tests/launched-forks"
	check "PTL_LAUNCH=none: jobs of one" alone 2 "${launcher[@]}" -x PTL_LAUNCH=none -n 2 "$ring"
	for transport in auto ofi:tcp ofi:net; do
		for what in exchange early cancelled again fork; do
			check "mpirun over $transport: $what" is_done 3 "${launcher[@]}" -x PTL_TRANSPORT=$transport -n 3 "$job" $what
		done
	done
	check "mpirun: rank and local rank" each_says ", local rank RANK of 2, by its launcher" 2 \
		"${launcher[@]}" -n 2 "$job" exchange
	check "mpirun: efa is refused for other reasons" fails_with "efa: not available" \
		"${launcher[@]}" -x PTL_TRANSPORT=ofi:efa -n 2 "$job" ready
	published_tests mpirun "${launcher[@]}"
	mpi_tests mpirun "${launcher[@]}"
	bench_tests
}

# No launcher but this shell, which tells both their ranks.
by_hand()
{
	local lo=0x7f000001 second
	export PTL_NIDMAP=$lo:$lo PTL_PIDMAP=$$:$(($$ + 0x40000000))
	PTL_MY_RID=1 timeout 240 "$ring" >"$stage/second" 2>&1 &
	second=$!
	run env PTL_MY_RID=0 "$ring"
	wait $second
	unset PTL_NIDMAP PTL_PIDMAP
	grep -q 'rank 0 of 2,.* has the token: 2' "$stage/out" && grep -q 'rank 1 of 2,.* has the token: 1' "$stage/second"
}

without_launcher_tests()
{
	local variable provider
	check "nobody launched it: a job of one" alone 1 "$ring"
	check "a launcher that does not answer is an error, not a job of one" \
		fails_with "PMIx server cannot be reached" env PMIX_RANK=0 PMIX_NAMESPACE=nowhere "$ring"
	# The second number is a job of one's, or its first process's.
	while read -r variable many one; do
		check "$variable without PMIx is an error, not N jobs of one" \
			fails_with "$variable says that this process is one of several" env "$variable=$many" "$ring"
		check "$variable=$one is a job of one" alone 1 env "$variable=$one" "$ring"
		check "$variable and PTL_LAUNCH=none is a job of one" alone 1 env "$variable=$many" PTL_LAUNCH=none "$ring"
	done <<-SIGNS
	OMPI_COMM_WORLD_SIZE 2 1
	SLURM_STEP_NUM_TASKS 2 1
	PMI_SIZE 2 1
	MV2_COMM_WORLD_SIZE 2 1
	FLUX_JOB_SIZE 2 1
	JSM_NAMESPACE_SIZE 2 1
	PMI_RANK 1 0
	PMIX_RANK 1 0
	PALS_RANKID 1 0
	ALPS_APP_PE 1 0
	SIGNS
	check "half of PMIx's variables is an error too" \
		fails_with "offers no PMIx" env PMIX_RANK=0 PMI_SIZE=2 "$ring"
	check "PTL_MY_RID without maps is an error" fails_with "PTL_NIDMAP is not set" env PTL_MY_RID=1 "$ring"
	check "two processes with PTL_MY_RID and maps are a job of two" by_hand
	for provider in efa cxi; do
		check "$provider without a launcher says what is missing" \
			fails_with "$provider: its addresses have to be published" env PTL_TRANSPORT=ofi:$provider "$job" ready
	done
	check "PTL_ADDRESSES=published without a launcher says what is missing" \
		fails_with "(PTL_ADDRESSES)" env PTL_ADDRESSES=published PTL_TRANSPORT=ofi:tcp "$job" ready
}

slurm_tests()
{
	local ranks late manager
	slurm_start "$stage/slurm" || { skip "srun" "$slurm_why_not"; return; }
	# shellcheck disable=SC2016 # for the shell that srun starts
	late='sleep $SLURM_PROCID; exec "$0"'
	for ranks in 2 4; do
		check "srun --mpi=pmix -n $ranks, a fence" \
			is_done $ranks srun --mpi=pmix -n $ranks "$build/tests/launched-first" fence
		check "srun --mpi=pmix -n $ranks" goes_round $ranks srun --mpi=pmix -n $ranks "$ring"
	done
	check "srun: rank and local rank" each_says ", local rank RANK of 2, by its launcher" 2 srun --mpi=pmix -n 2 "$job" exchange
	published_tests srun srun --mpi=pmix
	mpi_tests srun srun --mpi=pmix
	check "srun, ranks that come one after the other" goes_round 3 srun --mpi=pmix -n 3 bash -c "$late" "$ring"
	for manager in none pmi2; do
		check "srun --mpi=$manager is an error, not N jobs of one" \
			fails_with "offers no PMIx (srun: --mpi=pmix)" srun --mpi=$manager -n 2 "$ring"
	done
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
	local transport launcher=(env -u PTL_IFACE ip netns exec "${hosts[0]}" mpirun --oversubscribe
		-H "10.93.7.1:2,10.93.7.2:2" --mca plm_rsh_agent "$stage/enter" --mca oob_tcp_if_include 10.93.7.0/24
		--mca btl "self,tcp")
	[ "$(id -u)" -eq 0 ] || { skip "mpirun over two hosts" "network namespaces need root"; return; }
	make_hosts || { skip "mpirun over two hosts" "this kernel makes no network namespaces"; return; }
	printf '#!/bin/sh\nshift\nexec ip netns exec %s /bin/sh -c "$*"\n' "${hosts[1]}" >"$stage/enter"
	chmod +x "$stage/enter"
	for transport in auto ofi:tcp; do
		check "mpirun -n 4 over two hosts, $transport" goes_round 4 "${launcher[@]}" -x PTL_TRANSPORT=$transport -n 4 "$ring"
	done
	check "mpirun over two hosts: a first put behind a fence" is_done 4 "${launcher[@]}" -n 4 "$build/tests/launched-first" fence
	check "mpirun over two hosts: first puts with PTL_HOLD=1" \
		is_done 4 "${launcher[@]}" -x PTL_HOLD=1 -n 4 "$build/tests/launched-first"
	check "mpirun over two hosts: rank and local rank" each_says ", local rank [01] of 2, by its launcher" 4 \
		"${launcher[@]}" -n 4 "$job" exchange
	published_tests "mpirun over two hosts" "${launcher[@]}" -x PTL_ADDRESSES -x PTL_TRANSPORT -x PTL_CONNECT_TIMEOUT
}

export PTL_IFACE=lo
without_launcher_tests
mpirun_tests
hosts_tests
slurm_tests
summary
