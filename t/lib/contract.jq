# The contract of llmsbx-events(5), held against the events of one run (jq -s): prints the first thing that is wrong with them as
# an assignment of `problem` for the shell, or else assignments of what tests look at most.

def controls:
	["namespaces", "mounts", "readonly_root", "devices", "user", "capabilities", "no_new_privs", "seccomp", "landlock",
	 "network", "allow_hosts", "memory", "cpu", "pids", "disk", "output", "wall_time", "cpu_time"];
def outcomes:
	["exited", "signaled", "timeout", "cpu_timeout", "oom", "disk", "output", "denied", "cancelled", "compile_failed",
	 "install_failed", "lost", "failed"];
def own_keys:
	{start: ["v", "time", "lang", "backend", "engine", "image", "state", "enforced", "degraded", "unsupported"],
	 progress: ["phase", "message", "done", "total"],
	 stdout: ["data"], stderr: ["data"],
	 file: ["path", "size", "sha256", "mime", "change", "skipped", "saved_as"],
	 limit: ["name", "value"],
	 warn: ["code", "message"],
	 end: ["outcome", "exit_code", "signal", "ran", "error", "truncated", "bytes", "timing", "usage"]};
# A name or bytes that are not UTF-8 stand under another key, or one more.
def plain_keys: with_entries(if .key == "base64" then .key = "data" else . end) | del(.path_base64, .saved_as_base64) | keys;
def count(f): map(select(f)) | length;

def wrong_event:
	if own_keys[.type] == null then "an event of no known type: \(.)"
	elif plain_keys != (own_keys[.type] + ["type", "id", "seq", "t_ns"] | sort) then "not the keys of such an event: \(.)"
	else empty end;
def wrong_start:
	(.enforced + .degraded + .unsupported | keys) as $names
	| if ($names | length) != ([.enforced, .degraded, .unsupported] | map(length) | add) then "a control twice: \(.)"
	elif $names - controls != [] then "an unknown control: \(.)"
	elif [.enforced, .degraded, .unsupported | .[]] | all(type == "string" and . != "") | not then "a control without words: \(.)"
	elif .time | test("^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9][.][0-9]{9}Z$") | not then "a time: \(.)"
	else empty end;
def wrong_end_fields:
	if (.outcome | IN(outcomes[])) | not then "an unknown outcome: \(.)"
	elif .exit_code != null and .signal != null then "both an exit code and a signal: \(.)"
	elif (.outcome == "exited") and (.exit_code == null or .signal != null or .error != null) then "exited: \(.)"
	elif (.outcome == "signaled") and (.signal == null or .error != null) then "signaled: \(.)"
	elif (.outcome | IN("failed", "lost", "install_failed")) and .error == null then "no error: \(.)"
	elif (.outcome | IN("failed", "compile_failed")) and .ran then "it ran: \(.)"
	elif .error != null and (.error | keys) != ["code", "hint", "message", "phase"] then "the error: \(.)"
	elif (.truncated | keys) != ["stderr", "stdout"] or (.bytes | keys) != ["stderr", "stdout"] then "the streams: \(.)"
	elif (.timing | keys) != (["queue", "acquire", "install", "compile", "exec", "drain", "teardown", "total"] | sort) then "timing: \(.)"
	elif (.timing | del(.total) | add) > .timing.total then "the parts take longer than the whole: \(.)"
	elif (.usage | keys) != (["cpu_user_ns", "cpu_sys_ns", "memory_peak_bytes", "pids_peak", "io", "net"] | sort) then "usage: \(.)"
	else empty end;
def wrong_order:
	if map(.seq) != [range(length)] then "seq does not count from 0: \(map(.seq))"
	elif (map(.id) | unique | length) != 1 then "not one id"
	elif (map(.t_ns) | . != sort) then "t_ns goes back"
	elif count(.type == "end") != 1 or .[-1].type != "end" then "not exactly one end, at the end"
	elif count(.type == "start") > 1 then "more than one start"
	elif .[-1].ran and count(.type == "start") == 0 then "it ran without a start"
	elif count(.type == "start") == 1 and (.[:(map(.type) | index("start"))] | all(.type == "warn" or .type == "progress") | not)
	then "something before start"
	else empty end;
def problem:
	first((.[] | wrong_event), wrong_order, (.[] | select(.type == "start") | wrong_start), (.[-1] | wrong_end_fields), "");

# Whether the limit of processors is met depends on what else the machine does: who asks for it looks at the events.
def is_busy: .type == "limit" and .name == "cpu";
# "start output limit end": what came, neighbours of a kind once; stdout and stderr are two pipes, which have no order.
def order:
	reduce (.[] | select(is_busy | not).type | if . == "stdout" or . == "stderr" then "output" else . end) as $t
		([]; if .[-1] == $t then . else . + [$t] end) | join(" ");
def text($stream): map(select(.type == $stream) | .data // "[base64]") | join("");
def names($held): $held // {} | keys_unsorted | join(" ");
def variables:
	.[-1] as $last | (map(select(.type == "start"))[0] // {}) as $start |
	{order: order, out: text("stdout"), err: text("stderr"),
	 outcome: $last.outcome, exit_code: $last.exit_code, signal: $last.signal, ran: $last.ran,
	 error: $last.error.code, message: $last.error.message, phase: $last.error.phase, hint: $last.error.hint,
	 truncated: [$last.truncated | to_entries[] | select(.value) | .key] | join(" "),
	 bytes: "\($last.bytes.stdout) \($last.bytes.stderr)",
	 limits: map(select(.type == "limit" and .name != "cpu") | "\(.name)=\(.value)") | join(" "),
	 warnings: map(select(.type == "warn") | .code) | join(" "),
	 enforced: names($start.enforced),
	 degraded: names($start.degraded),
	 unsupported: names($start.unsupported)};

# Of many runs, whose events are mixed, only what is wrong is told.
if $ENV.CONTRACT == "jobs" then "problem=\([group_by(.id)[] | problem | select(. != "")] | join("; ") | @sh)" else
problem as $problem |
if $problem != "" then "problem=\($problem | @sh)"
else variables + {problem: ""} | to_entries[] | "\(.key)=\(.value | tostring | @sh)" end end
