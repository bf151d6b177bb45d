# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# A Slurm of one node on the loopback, with an authentication daemon of its own.  Sourced.
#   slurm_start FOLDER   SLURM_CONF is set; on failure slurm_why_not says why
#   slurm_stop
slurm_folder=""
# shellcheck disable=SC2034 # for the scripts that source this
slurm_why_not=""

slurm_configure()
{
	local host=$1
	cat >"$slurm_folder/slurm.conf" <<-CONF
	ClusterName=portals3
	SlurmctldHost=$host(127.0.0.1)
	SlurmctldPort=26817
	SlurmdPort=26818
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	AuthInfo=socket=$slurm_folder/munge.socket
	StateSaveLocation=$slurm_folder/state
	SlurmdSpoolDir=$slurm_folder/spool
	SlurmctldPidFile=$slurm_folder/slurmctld.pid
	SlurmdPidFile=$slurm_folder/slurmd.pid
	SlurmctldLogFile=$slurm_folder/slurmctld.log
	SlurmdLogFile=$slurm_folder/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SelectType=select/cons_tres
	SwitchType=switch/none
	SlurmdParameters=config_overrides
	ReturnToService=2
	NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
	PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
	CONF
}

slurm_munge()
{
	(umask 077 && head -c 1024 /dev/urandom >"$slurm_folder/munge.key")
	munged --force --key-file="$slurm_folder/munge.key" --socket="$slurm_folder/munge.socket" \
		--pid-file="$slurm_folder/munge.pid" --log-file="$slurm_folder/munge.log" \
		--seed-file="$slurm_folder/munge.seed"
}

# sinfo answers only once the controller does; it waits by itself, and the node becomes idle when its daemon has reported.
slurm_is_up()
{
	local until=$((SECONDS + 180))
	while [ $SECONDS -lt $until ]; do
		timeout 60 sinfo --noheader --format=%T 2>/dev/null | grep -qx idle && return 0
		sleep 0.1
	done
	return 1
}

slurm_start() # FOLDER
{
	local host
	host=$(hostname -s)
	slurm_folder=$1
	[ "$(id -u)" -eq 0 ] || { slurm_why_not="its daemons want to be root"; return 1; }
	mkdir -p "$slurm_folder/state" "$slurm_folder/spool" || return 1
	chmod 755 "$slurm_folder"
	slurm_configure "$host"
	export SLURM_CONF=$slurm_folder/slurm.conf
	slurm_why_not="munged does not start"
	slurm_munge >"$slurm_folder/munge.out" 2>&1 || return 1
	slurm_why_not="slurmctld or slurmd does not start"
	slurmctld -f "$SLURM_CONF" && slurmd -f "$SLURM_CONF" -N "$host" || return 1
	# shellcheck disable=SC2034 # for the scripts that source this
	slurm_why_not="its node does not come up: $(tail -n 1 "$slurm_folder/slurmd.log" 2>/dev/null)"
	slurm_is_up
}

# The script that removes the folder must not find them writing into it.
slurm_stop()
{
	local daemon pid tries pids=()
	[ -n "$slurm_folder" ] || return 0
	for daemon in slurmd slurmctld munge; do
		pid=$(cat "$slurm_folder/$daemon.pid" 2>/dev/null) && kill "$pid" 2>/dev/null && pids+=("$pid")
	done
	for pid in "${pids[@]}"; do
		for ((tries = 0; tries < 100; tries++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
	done
	slurm_folder=""
}
