#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/spin/run.sh [SCRATCH]
# Verifies the models with Spin, and that each fails once something is wrong with it: a model that cannot fail proves
# nothing.  SCRATCH is a directory for what is generated, a temporary one if none is given.  Ends with the line
# "N passed, N failed, N skipped".
#
# A table of MODEL OPTIONS...: what follows "holds" has to verify completely, what follows "fails" must not.  With
# PORTALS_TEST_NIGHTLY=no (every day) a third of them, by the date: the outcome of a model changes with its text only.  All
# of a model whose text differs from origin/main.
set -u
models=$(cd "$(dirname "$0")" && pwd) || exit 1
if [ $# -gt 0 ]; then
	scratch=$1
	mkdir -p "$scratch" || exit 1
else
	scratch=$(mktemp -d) || exit 1
	trap 'rm -rf "$scratch"' EXIT
fi
scratch=$(realpath "$scratch")

DEPTH=1000000  # longest path, in steps
MEMORY=2000    # MiB
PATIENCE=900   # seconds; the longest needs some 10 on an idle core

report() # RESULT NAME [REASON]
{
	printf '%-4s %s\n' "$1" "$2${3:+: $3}"
}

# Leaves Spin's outcome in pan.out.
verify() # MODEL OPTIONS...
{
	local model=$1
	shift
	spin -a "$@" "$models/$model.pml" >spin.out 2>&1 || return
	gcc -w "$optimise" -DSAFETY -DCOLLAPSE -DMEMLIM=$MEMORY -o pan pan.c >gcc.out 2>&1 || return
	timeout $PATIENCE ./pan -n -m$DEPTH >pan.out 2>&1
}

holds() # MODEL OPTIONS...
{
	local name="$*" began=$SECONDS optimise=-O2
	verify "$@"
	if grep -qs 'errors: 0$' pan.out && ! grep -q 'Search not completed\|max search depth too small' pan.out; then
		report ok "$name" "$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out) states, $((SECONDS - began)) s"
	else
		tail -n 30 spin.out gcc.out pan.out 2>/dev/null
		report FAIL "$name" "$(outcome)"
	fi
}

fails() # MODEL OPTIONS...: the last one names the mutant
{
	local name="$*" optimise=-O0
	verify "$@"
	if grep -qs '^pan:1: \(assertion violated\|invalid end state\)' pan.out; then
		report ok "$name fails as it must"
	elif ! grep -q -- "${*: -1:1}" <<<"$known"; then
		report FAIL "$name" "no such mutant"
	else
		report FAIL "$name" "a mutant passes: $(outcome)"
	fi
}

is_due() # holds|fails MODEL
{
	seen[$1]=$((seen[$1] + 1))
	[ "${PORTALS_TEST_NIGHTLY:-yes}" = yes ] || [[ " $changed " == *" $2 "* ]] || [ $(((seen[$1] + today) % 3)) -eq 0 ]
}

# One check in a directory of its own, as many at a time as there are processors.
declare -A seen=([holds]=0 [fails]=0)
number=0 today=$(($(date +%s) / 86400))
changed=$(git -C "$models" diff --name-only --relative "$(git -C "$models" merge-base origin/main HEAD 2>/dev/null || echo HEAD)" -- . 2>/dev/null |
	sed -n 's/\.pml$//p' | tr '\n' ' ')
job() # holds|fails MODEL OPTIONS...
{
	local place
	is_due "$1" "$2" || return
	number=$((number + 1))
	place=$scratch/spin/$(printf %03d $number)
	mkdir -p "$place" || exit 1
	[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
	(cd "$place" && "$@" >outcome) &
}

outcome()
{
	[ -f pan.c ] || { echo "spin cannot read it"; return; }
	[ -f pan.out ] || { echo "gcc cannot compile it"; return; }
	grep -m1 '^pan:' pan.out || grep -m1 'errors:' pan.out || echo "no result in $PATIENCE s"
}

known=$(grep -oh 'MUTANT_[A-Z_]*' "$models"/*.pml | sort -u | sed 's/^/-D/')
rm -rf "$scratch/spin"
mkdir -p "$scratch/spin" && cd "$scratch/spin" || exit 1
for tool in spin gcc; do
	command -v $tool >/dev/null && continue
	report skip spin "no $tool on this machine"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
done

# --- the ownership word ---

job holds own
job holds own -DCLAIM
job holds own -DDEDICATED
job holds own -DDEDICATED -DCLAIM
for mutant in PUSH_RELAXED GIVE_BACK_RELAXED COMPLETE_RELAXED DRAIN_BY_STORE GIVE_BACK_BY_STORE GIVE_BACK_BLIND \
	COMPLETE_BY_STORE AWAIT_BY_STORE PUSH_ON_FREE REAP_BY_STORE HAND_ON_BY_STORE SUCCESSOR_NOT_WOKEN \
	SERVES_FOR_EVER; do
	job fails own -DMUTANT_$mutant
done
job fails own -DCLAIM -DMUTANT_HAND_ON_RELAXED
for mutant in HAND_ON_RELAXED HAND_ON_BY_STORE SUCCESSOR_NOT_WOKEN; do
	job fails own -DDEDICATED -DCLAIM -DMUTANT_$mutant
done
for mutant in PUSH_RELAXED COMPLETE_RELAXED PUSH_WITHOUT_WAKE_UP PUSH_STAYS_ASLEEP SLEEP_BY_STORE WAKE_BY_STORE; do
	job fails own -DDEDICATED -DMUTANT_$mutant
done

# --- which thread sleeps, which takes over ---

job holds sleepers -DNIC=0 -DMESSAGES=2 -DOTHERS=2
job holds sleepers -DNIC=0 -DHOSTS=3 -DMESSAGES=2
job holds sleepers -DNIC=0 -DTIMER=1 -DOTHERS=1
job holds sleepers -DNIC=1 -DMESSAGES=2
job holds sleepers -DNIC=1 -DBUFFERS=1
job holds sleepers -DNIC=1 -DHOSTS=1 -DBUFFERS=1 -DALARM=0 -DMESSAGES=2
job holds sleepers -DNIC=1 -DHOSTS=1 -DTIMER=1 -DOTHERS=2
job holds sleepers -DNIC=1 -DLATE=1
job holds sleepers -DNIC=1 -DHOSTS=1 -DMESSAGES=0 -DSTOP=1 -DBUFFERS=1 -DOTHERS=1
job holds sleepers -DNIC=2 -DTIMER=1 -DOTHERS=1
job holds sleepers -DNIC=2 -DLATE=1 -DMESSAGES=2

job holds sleepers -DNIC=1 -DHOSTS=1 -DLOOP=1 -DMESSAGES=2
job holds sleepers -DNIC=1 -DHOSTS=1 -DLOOP=1 -DTIMER=1
job holds sleepers -DNIC=2 -DHOSTS=1 -DLOOP=1 -DMESSAGES=3

for mutant in ENTER_BLIND ENTER_BLIND_AFTER_DRIVE SLEEP_UNARMED NO_REARMING REARMING_FAILS_SILENTLY \
	EVENTS_NOT_PASSED_ON SLEEPER_NOT_WOKEN ROLE_NOT_HANDED_ON PUT_WITHOUT_REARMING; do
	job fails sleepers -DNIC=0 -DMESSAGES=2 -DOTHERS=2 -DMUTANT_$mutant
done
job fails sleepers -DNIC=0 -DHOSTS=3 -DMESSAGES=2 -DMUTANT_ROLE_PASSED_ON_BY_SLEEPER_ONLY
job fails sleepers -DNIC=0 -DHOSTS=3 -DMESSAGES=2 -DMUTANT_CLAIM_FORGOTTEN
job fails sleepers -DNIC=0 -DTIMER=1 -DMUTANT_EARLIER_TIMER_WITHOUT_WAKE_UP
job fails sleepers -DNIC=0 -DTIMER=1 -DMUTANT_ARM_FORGETS_WHAT_TIMERS_DID
job fails sleepers -DNIC=2 -DTIMER=1 -DMUTANT_ARM_FORGETS_WHAT_TIMERS_DID
job fails sleepers -DNIC=2 -DMESSAGES=2 -DOTHERS=1 -DMUTANT_EVENTS_NOT_PASSED_ON
for mutant in POST_ANNOUNCES_NOTHING ARMED_WITHOUT_OWNERSHIP REST_NOT_ANNOUNCED; do
	job fails sleepers -DNIC=1 -DHOSTS=1 -DLOOP=1 -DMESSAGES=3 -DMUTANT_$mutant
done
job fails sleepers -DNIC=2 -DHOSTS=1 -DLOOP=1 -DMESSAGES=3 -DMUTANT_ARMED_WITHOUT_OWNERSHIP
job fails sleepers -DNIC=1 -DHOSTS=1 -DTIMER=1 -DMUTANT_ONE_BELIEF
for mutant in ATTACH_WITHOUT_WAKE_UP ATTACH_WAKES_ONE; do
	job fails sleepers -DNIC=1 -DHOSTS=1 -DLATE=1 -DMUTANT_$mutant
done
for mutant in NO_FENCE_IN_GO_DEEP NO_FENCE_IN_END_DEEP DEEP_BLINDLY DEEP_NEVER_ENDED DEEP_ENDED_WITHOUT_WAKE \
	ALARM_NOT_WATCHED ALARM_ENDED_BY_SLEEPER STALE_ALARM_READ_BEFORE_SLEEP; do
	job fails sleepers -DNIC=1 -DBUFFERS=1 -DMUTANT_$mutant
done
job fails sleepers -DNIC=1 -DHOSTS=1 -DMESSAGES=0 -DSTOP=1 -DBUFFERS=1 -DMUTANT_STOP_WITHOUT_WAKE_UP

# --- the node transport: its queue ---

job holds node_queue
job holds node_queue -DDEATHS=2 -DRECORDS=1
for mutant in PUBLISH_RELAXED INTENT_RELAXED RESERVE_RELAXED INTENT_AFTER_RESERVING INTENT_LEFT INTENT_NOT_LOOKED_AT \
	HEAD_BEFORE_TAIL NO_ROOM_ASKED_FOR FIRST_LINE_FIRST SEQUENCE_IN_FIRST_LINE_ONLY HEAD_BEFORE_COPY \
	LIVING_PASSED_OVER PUBLISHED_LOOKED_AT_ONCE TAIL_NOT_LOOKED_AT RECOVER_NEVER FORGOTTEN_AT_ONCE; do
	job fails node_queue -DMUTANT_$mutant
done

# --- when a receiver is woken ---

job holds node_attention -DFALLS_ASLEEP=1
job holds node_attention -DHOST_POLLED=0
job holds node_attention -DTICK=0 -DWATCHED=0
for mutant in NO_FENCE SLOT_LOOKED_AT_INSTEAD_OF_TAIL ATTENTION_LOADED_FIRST SENDER_CLEARS WOKEN_BY_ONE_FOR_ALL \
	CONTROL_READ_AFTER_ARMING NO_REARMING SLEEPER_NOT_WOKEN; do
	job fails node_attention -DHOST_POLLED=0 -DWATCHED=0 -DMUTANT_$mutant
done
for mutant in WAKES_WITHOUT_EPOCH REARMED_WITH_SAME_EPOCH; do
	job fails node_attention -DHOST_POLLED=0 -DWATCHED=0 -DMESSAGES=2 -DMUTANT_$mutant
done
for mutant in NOTHING_DEFERRED DEFERRED_WOKEN_ONCE WAKES_OF_SLEEPERS_FORGOTTEN; do
	job fails node_attention -DTICK=0 -DWATCHED=0 -DMUTANT_$mutant
done
job fails node_attention -DTICK=0 -DMUTANT_LET_GO_AT_ONCE

# --- a message copied from both ends ---

job holds node_split -DGENERATIONS=3
for mutant in GENERATION_NOT_COMPARED GENERATION_COMPARED_BEFORE TAKEN_BY_STORE DONE_BEFORE_WRITING DONE_RELAXED \
	DONE_BY_RELEASE DONE_NOT_RESET FAILED_NOT_RESET FAILED_AFTER_DONE FAILURE_NOT_SAID FAILED_CHUNK_NOT_READ \
	FAILED_READ_TAKES_NOTHING ENDED_WHEN_TAKEN ENDED_BY_TIMEOUT ASLEEP_AFTER_LOOKING NO_FENCE READER_NOT_TOLD; do
	job fails node_split -DMUTANT_$mutant
done

# --- a message copied through slabs ---

job holds node_staged
job holds node_staged -DCROSS=0 -DREADS=2
for mutant in GENERATION_STAYS GENERATION_NOT_COMPARED ALONE_FROM_THE_BEGINNING ALONE_BEHIND_THE_STRETCH PATIENT_FOR_EVER \
	OLDER_REQUEST_KEPT KEY_NOT_LOOKED_UP; do
	job fails node_staged -DMUTANT_$mutant
done
for mutant in SLAB_FREE_AT_ONCE AHEAD_NOT_BOUNDED PUBLISH_RELAXED HEAD_BEFORE_COPY NO_ROOM_FORGOTTEN \
	ENDED_WITH_THE_STRETCH LOST_WHAT_HAD_ENDED DEATH_NOT_TOLD; do
	job fails node_staged -DCROSS=0 -DREADS=2 -DMUTANT_$mutant
done

# --- how processes of a node connect ---

job holds node_meet
job holds node_meet -DWATCHED=0 -DLOSSES=2 -DCONNECTS=2
job holds node_meet -DWATCHED=0 -DLOSSES=2 -DFORGETS=1
job holds node_meet -DWATCHED=0 -DRENEWS=1
for mutant in LET_GO_AT_ONCE MAPPED_BY_ANY_INCARNATION SUCCESSOR_TAKEN_FOR_THE_SAME; do
	job fails node_meet -DWATCHED=0 -DRESTARTS=0 -DRENEWS=1 -DMUTANT_$mutant
done
for mutant in CONNECTS_ONCE CONNECT_ANSWERED_BY_NEWS_ONLY LET_GO_AT_ONCE MAPPED_BY_ANY_INCARNATION OPEN_WHEN_MET; do
	job fails node_meet -DWATCHED=0 -DMUTANT_$mutant
done
for mutant in ANY_NUMBER_SAYS_MAPPED NEW_NUMBER_BELIEVED NEW_NUMBER_NEVER_BELIEVED NUMBER_KEPT \
	SUCCESSOR_TAKEN_FOR_THE_SAME GREETING_KEPT OWN_GREETING_CHANGED REPORTED_ONCE; do
	job fails node_meet -DWATCHED=0 -DFORGETS=1 -DMUTANT_$mutant
done
job fails node_meet -DWATCHED=0 -DMUTANT_REPORTED_WHEN_OPEN
job fails node_meet -DWATCHED=0 -DRENEWS=1 -DMUTANT_TAG_WITH_SEGMENT_ONLY

wait
cat "$scratch"/spin/*/outcome
passed=$(cat "$scratch"/spin/*/outcome | grep -c '^ok  ')
failed=$((number - passed))
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
