#!/usr/bin/env bash
# Runs a command (default: npm test) in a network namespace whose only interface is the loopback, with a Postgres and a
# Redis of its own. It shows that nothing needs another network. Needs Linux, root, iproute2, Postgres and redis-server.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
  exec unshare --net --pid --fork --kill-child --mount-proc "$0" --inside "$@"
fi
shift
ip link set lo up

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
chown postgres "$data"
binaries=$(dirname "$(find /usr/lib/postgresql -name initdb | sort --version-sort | tail -n 1)")
as_postgres() { runuser --user postgres -- "$@" >/dev/null; }
as_postgres "$binaries/initdb" --pgdata "$data/postgres" --username root --auth trust --no-sync
# The names that the tests look for at the usual address.
as_postgres "$binaries/pg_ctl" --pgdata "$data/postgres" --wait start --log "$data/postgres.log" \
  --options "-c listen_addresses=127.0.0.1 -c unix_socket_directories=$data -c max_connections=300"
createdb --host 127.0.0.1 --username root test
redis-server --daemonize yes --bind 127.0.0.1 --port 6379 --save "" --appendonly no --dir "$data" >/dev/null

export QUARRY_REQUIRE_SERVICES=1
if [ $# -eq 0 ]; then set -- npm test; fi
"$@"
