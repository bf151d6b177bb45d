# SPDX-License-Identifier: BSD-3-Clause
"""gdb commands that print what libportals3 knows, of a process or of its core file.

    (gdb) source portals3.py
    (gdb) portals                 everything
    (gdb) portals interfaces      identity, mode, owner of the engine
    (gdb) portals queues          event queues with their unread events
    (gdb) portals lists           match lists with their descriptors
    (gdb) portals peers           states, paths, and what is under way with each

Each takes the index of an interface, else it prints all.  They only read memory and call no function of the process, so they work
where PtlTblDump and PtlNIEqDump cannot be called.  They need the library's debug information.  In a process that is stopped in
the middle of something a list may be in two states at once: what cannot be read is said to be so, and the walk goes on or ends.
"""
import gdb

MOST = 100000  # objects of a walk; a list that is longer is a ring
OWNER_MASK = 7


def number(value):
    return int(value)


def field_type(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error as error:
        raise gdb.GdbError(f"no debug information of libportals3 (build it with -g, or install its debug symbols): {error}") from None


def process_table():
    field_type("struct process_table")
    try:
        return gdb.parse_and_eval("process_table")
    except gdb.error as error:
        raise gdb.GdbError(f"this process has not loaded libportals3: {error}") from None


def interfaces(wanted):
    table = process_table()
    first, last = table["interfaces"].type.range()
    for index in range(first, last + 1):
        pointer = table["interfaces"][index]
        if number(pointer) and wanted in (None, index):
            yield index, pointer.cast(field_type("struct nic").pointer()).dereference()


def process_id(ptl_id):
    def part(value, text):
        return "any" if number(value) == 0xffffffff else text(number(value))

    return part(ptl_id["nid"], lambda nid: ".".join(str(nid >> shift & 255) for shift in (24, 16, 8, 0))) + ":" + part(ptl_id["pid"], str)


def chain(head, link="next"):
    """The elements of a list from its head on."""
    seen = 0
    while number(head):
        if seen == MOST:
            print(f"    more than {MOST}: a ring?")
            return
        element = head.dereference()
        yield element
        head = element[link]
        seen += 1


def pool_objects(pool, type_name):
    """Those that are live."""
    pointer, size = field_type(type_name).pointer(), number(pool["object_size"])
    start = number(pool["objects"])
    for index in range(number(pool["used"]) if start else 0):
        element = gdb.Value(start + index * size).cast(pointer).dereference()
        if element["item"]["live"]:
            yield element


def name_of(value, prefix=""):
    """An enumerator in lower case."""
    return str(value).removeprefix(prefix).lower()


def print_interface(index, nic):
    owner = gdb.Value(number(nic["own"]) & OWNER_MASK).cast(field_type("enum nic_owner"))
    sleeper = gdb.Value(number(nic["sleep"]["sleeper"])).cast(field_type("enum nic_sleeper"))
    print(f"interface {index}: {process_id(nic['self']['id'])} on {nic['self']['iface'].string()}, mode {name_of(nic['mode'], 'NIC_MODE_')}")
    print(f"  engine: {name_of(owner, 'NIC_')}, {'commands wait' if number(nic['own']) & ~OWNER_MASK else 'no command waits'}, "
          f"sleeper: {name_of(sleeper, 'SLEEPER_')}, NIC thread {'asleep' if nic['sleep']['nic_asleep'] else 'awake or parked'}, "
          f"{number(nic['hosts']['waiting'])} threads wait for events")
    counters = nic["counters"]
    print("  counters: " + ", ".join(f"{field.name} {number(counters[field.name])}" for field in counters.type.fields()
                                     if field.type.strip_typedefs().code == gdb.TYPE_CODE_INT and number(counters[field.name])))


def event_text(words):
    low, high = lambda word: number(word) & 0xffffffff, lambda word: number(word) >> 32
    kind = gdb.Value(high(words[13]) & 0xffff).cast(field_type("ptl_event_kind_t"))
    nid_pid = {"nid": low(words[0]), "pid": high(words[0])}
    return (f"{kind} from {process_id(nid_pid)}, index {low(words[2])}, bits 0x{number(words[3]):x}, {number(words[5])} bytes at "
            f"{number(words[6])}, link {high(words[2])}, failure {high(words[13]) >> 16}")


def print_queues(index, nic):
    print(f"event queues of interface {index}: {number(nic['objects']['queues']['live'])}")
    for eq in pool_objects(nic["objects"]["queues"], "struct event_queue"):
        ring = eq["ring"].cast(field_type("struct event_ring").pointer())
        posted, taken = number(eq["posted"]), number(eq["taken"])
        size = number(ring["size"]) if number(ring) else 0
        unread = max(posted - taken, 0)
        print(f"  eq 0x{number(eq['handle']):08x}: room for {size} events, {min(unread, size)} unread, {max(unread - size, 0)} lost, "
              f"{number(eq['underway'])} operations under way, {number(eq['waiters'])} waiters")
        for event in range(max(taken, posted - size), posted):
            slot = ring["slots"][event % size]
            complete = number(slot["sequence"]) == event + 1
            print("    " + (event_text(slot["words"]) if complete else "(is being written)"))


def print_descriptor(md):
    queue = f"0x{number(md['eq']['handle']):08x}" if number(md["eq"]) else "none"
    print(f"    md 0x{number(md['handle']):08x}: {number(md['region']['length'])} bytes at 0x{number(md['user_start']):x}, options "
          f"0x{number(md['options']):x}, threshold {number(md['threshold'])}, offset {number(md['local_offset'])}, pending "
          f"{number(md['pending'])}, {'active' if md['active'] else 'inactive'}, eq {queue}")


def print_lists(index, nic):
    print(f"match lists of interface {index}:")
    first, last = nic["objects"]["portals"].type.range()
    for entry in range(first, last + 1):
        entries = nic["objects"]["portals"][entry]
        if not number(entries["head"]):
            continue
        print(f"  portal table entry {entry}: {number(entries['length'])} match entries")
        for me in chain(entries["head"]):
            ignore = ~number(me["must_match"]) & (1 << 64) - 1
            print(f"  me 0x{number(me['handle']):08x}: match bits 0x{number(me['match_bits']):016x}, ignore bits 0x{ignore:016x}, "
                  f"from {process_id(me['source'])}{', goes with its descriptor' if me['unlink'] else ''}")
            if number(me["descriptor"]):
                print_descriptor(me["descriptor"].dereference())


def print_operations(what, operations):
    for operation in chain(operations["head"]):
        protocol = operation["protocol"]["name"].string() if number(operation["protocol"]) else "?"
        transfer = operation["transfer"]
        reading = f", read {number(transfer['asked'])} of {number(transfer['total'])} bytes" if number(transfer["total"]) else ""
        print(f"    {what}: {protocol}, state {number(operation['state'])}, {number(operation['info']['rlength'])} bytes, bits "
              f"0x{number(operation['info']['match_bits']):x}{reading}")


def print_peers(index, nic):
    peers = nic["peers"]
    print(f"peers of interface {index}: {number(peers['count'])}")
    for bucket in range(number(peers["mask"]) + 1 if number(peers["buckets"]) else 0):
        for peer in chain(peers["buckets"][bucket]):
            transport = peer["transport"]["ops"]["name"].string() if number(peer["transport"]) else "no transport yet"
            print(f"  {process_id(peer['id'])}: {name_of(peer['state'], 'PEER_')} over {transport}, {number(peer['outstanding'])} unanswered, "
                  f"{number(peer['reads'])} reads under way, {number(peer['arrivals'])} messages received, {number(peer['refusals'])} refusals")
            for what, member in (("waits to be sent", "requests"), ("waits to be sent", "responses"), ("under way", "active")):
                print_operations(what, peer[member])


PARTS = {"interfaces": print_interface, "queues": print_queues, "lists": print_lists, "peers": print_peers}


class Portals(gdb.Command):
    """Print what libportals3 knows: portals [interfaces|queues|lists|peers] [INTERFACE]"""

    def __init__(self):
        super().__init__("portals", gdb.COMMAND_DATA)

    def complete(self, text, word):
        return [part for part in PARTS if part.startswith(word)]

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        parts = [words.pop(0)] if words and words[0] in PARTS else list(PARTS)
        if len(words) > 1 or (words and not words[0].isdigit()):
            raise gdb.GdbError("usage: portals [" + "|".join(PARTS) + "] [INTERFACE]")
        found = False
        for index, nic in interfaces(int(words[0]) if words else None):
            found = True
            for part in parts:
                try:
                    PARTS[part](index, nic)
                except gdb.MemoryError as error:
                    print(f"  {part}: {error}")
        if not found:
            print("no such interface" if words else "no interface is open")


Portals()
