import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns the block that an address is counted under: an IPv4 address itself, or the /64 of an IPv6 address. One
 * customer commonly has all of a /64. An IPv4 address written as IPv6 counts as IPv4. Returns undefined if the text is
 * no address.
 */
export function toAddressBlock(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const [address = ''] = text.split('%', 1); // without an interface's name
  if (!isIPv6(address)) return undefined;
  const groups = toGroups(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight 16-bit groups of a valid IPv6 address. */
function toGroups(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const first = toNumbers(head);
  if (tail === undefined) return first;
  const last = toNumbers(tail);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function toNumbers(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
