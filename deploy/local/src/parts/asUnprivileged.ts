import { readFileSync } from 'node:fs';

/** User and group `nobody`, which every Debian has: Postgres refuses to run as root. */
export const UNPRIVILEGED_ID = 65_534;

/** Numbers of capabilities(7). */
const CAP_DAC_READ_SEARCH = 2;
const CAP_SETPCAP = 8;

/**
 * Returns a command that does not run as root. Other users run it unchanged. Root runs it as `nobody` with one
 * capability: to read and pass through closed directories. The data directory may be below one (`mktemp -d`, a home
 * directory). If the machine does not grant that capability, as in some containers, the directories have to be open.
 */
export function asUnprivileged(command: string, args: string[]): { command: string; args: string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  const user = [`--reuid=${UNPRIVILEGED_ID}`, `--regid=${UNPRIVILEGED_ID}`, '--clear-groups'];
  const rights = hasCapabilities([CAP_DAC_READ_SEARCH, CAP_SETPCAP])
    ? [
        '--inh-caps=-all,+dac_read_search',
        '--ambient-caps=+dac_read_search',
        // access(2) checks the real user and would ignore the capability; Postgres checks its binaries with it.
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
