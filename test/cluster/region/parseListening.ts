const LISTENING = '0A';
const LOOPBACK = /^(0100007F|00000000000000000000000001000000|0000000000000000FFFF00000100007F)$/;

/** The ports of the lines of /proc/net/tcp that listen, on other than the loopback address. */
export function parseListening(tables: string): number[] {
  const ports = tables.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [address = '', port = ''] = local.split(':');
    return state === LISTENING && !LOOPBACK.test(address) ? [Number.parseInt(port, 16)] : [];
  });
  return [...new Set(ports)].sort((a, b) => a - b);
}
