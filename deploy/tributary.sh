#!/bin/sh
# The command for a machine that runs deploy/tributary.service; install it as /usr/local/bin/tributary. It uses the
# settings of the unit, so it needs root. The caller's environment takes precedence.
settings=/etc/tributary.env
if [ ! -r "$settings" ]; then
  echo "tributary: $settings cannot be read; run this as root" >&2
  exit 1
fi
# Read as systemd reads them.
assignments=$(/opt/tributary/node_modules/.bin/node --disable-warning=ExperimentalWarning \
  /opt/tributary/scripts/unit-settings.ts "$settings") || exit 1
eval "$assignments"
# The unit's data directory, unless its settings name another.
export DATA_DIR="${DATA_DIR-/var/lib/tributary}"
cd /opt/tributary || exit 1
exec /opt/tributary/node_modules/.bin/node --disable-warning=ExperimentalWarning /opt/tributary/cli/main.ts "$@"
