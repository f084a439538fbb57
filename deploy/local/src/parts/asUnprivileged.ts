import { readFileSync } from 'node:fs';

/** User and group `nobody`, which every Debian has: Postgres refuses to run as root. */
export const UNPRIVILEGED_ID = 65_534;

/** Numbers of capabilities(7). */
const CAP_DAC_READ_SEARCH = 2;
const CAP_SETPCAP = 8;

/**
 * The command as it has to be run so that it is not root. Whoever is not root anyway runs it as it stands.
 * For root it becomes `nobody`, who keeps one right: to read and pass through directories closed to others, since the
 * repository and so the data directory may lie below one (`mktemp -d`, a home directory). Where the machine does not give
 * that right, as in some containers, the directories have to be open.
 */
export function asUnprivileged(command: string, args: string[]): { command: string; args: string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  const user = [`--reuid=${UNPRIVILEGED_ID}`, `--regid=${UNPRIVILEGED_ID}`, '--clear-groups'];
  const rights = hasCapabilities([CAP_DAC_READ_SEARCH, CAP_SETPCAP])
    ? [
        '--inh-caps=-all,+dac_read_search',
        '--ambient-caps=+dac_read_search',
        // access(2) asks on behalf of the real user and would leave the right out; Postgres checks its binaries by it.
        '--securebits=+no_setuid_fixup',
        '--bounding-set=-all,+dac_read_search',
      ]
    : [];
  return { command: 'setpriv', args: [...user, ...rights, command, ...args] };
}

function hasCapabilities(wanted: number[]): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return wanted.every((capability) => (BigInt(`0x${effective}`) >> BigInt(capability)) & 1n);
}
