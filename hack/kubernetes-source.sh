#!/usr/bin/env bash
# Fetches the source of Kubernetes 1.20.2 (Debian's source package) into a folder and prints the folder of the tree:
#
#   tree=$(hack/kubernetes-source.sh FOLDER [PACKAGE…])
#
# Packages are installed from the same sources of apt. Needs Debian bookworm and root (apt-get); changes nothing of the
# machine's configuration.
set -euo pipefail

log() { printf '%s\n' "$*" >&2; }
# Another apt-get may be at work; it is waited for.
apt() { apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >&2; }

cd "$1"
shift
# apt drops its rights while it downloads.
chmod 755 .

# The sources that are configured, as sources of source: in either format, with apt's state in a folder of its own.
log 'looking for the source package'
parts="$PWD/sources.list.d"
mkdir -p "$parts" lists/partial
for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    sed -E 's/^Types:.*/Types: deb deb-src/' "$file" >"$parts/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] || continue
    sed -E -n 's/^(deb|deb-src)([[:space:]].*)$/deb\2\ndeb-src\2/p' "$file" | sort -u >"$parts/$(basename "$file" .list).list"
done
source_apt=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$parts" -o "Dir::State::Lists=$PWD/lists")
# A source that cannot be reached is no matter if the package comes from another.
apt "${source_apt[@]}" update || log 'some sources could not be read; going on'

log 'installing what the build needs'
apt "${source_apt[@]}" install -y --no-install-recommends dpkg-dev "$@"

log 'fetching the source'
apt "${source_apt[@]}" source kubernetes
echo "$PWD"/kubernetes-*/
