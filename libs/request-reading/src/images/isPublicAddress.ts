import { BlockList, isIP } from 'node:net';

/** IPv4 ranges that are no public unicast addresses (IANA's special-purpose registry), and one that a cloud keeps for itself. */
const SPECIAL_IPV4: [network: string, prefix: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Azure's platform services: a public address that only machines inside reach.
  ['168.63.129.16', 32],
];

/** IPv6 hands out public unicast addresses from one range alone; whatever lies outside it is not public. */
const PUBLIC_IPV6: [network: string, prefix: number] = ['2000::', 3];

/** Ranges within it that are not public: protocol assignments with Teredo, and two for documentation. */
const SPECIAL_IPV6: [network: string, prefix: number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
];

/** Ranges that carry an IPv4 address, by which they are judged: mapped, NAT64, 6to4. */
const WITH_IPV4_AT_END = ['::ffff:', '64:ff9b::'];
const SIX_TO_FOUR_PREFIX = 16;

const candidates = new BlockList();
candidates.addSubnet(...PUBLIC_IPV6, 'ipv6');
const special = new BlockList();
for (const range of SPECIAL_IPV6) special.addSubnet(...range, 'ipv6');
for (const beginning of WITH_IPV4_AT_END) candidates.addSubnet(`${beginning}0.0.0.0`, 96, 'ipv6');
for (const [network, prefix] of SPECIAL_IPV4) {
  special.addSubnet(network, prefix, 'ipv4');
  for (const beginning of WITH_IPV4_AT_END) special.addSubnet(`${beginning}${network}`, 96 + prefix, 'ipv6');
  special.addSubnet(toSixToFour(network), SIX_TO_FOUR_PREFIX + prefix, 'ipv6');
}

function toSixToFour(network: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = network.split('.').map(Number);
  return `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`;
}

/** Whether an IP address, in its usual notation, is a public unicast one; false for whatever is no address, or has a zone. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4');
    case 6:
      return !address.includes('%') && candidates.check(address, 'ipv6') && !special.check(address, 'ipv6');
    default:
      return false;
  }
}
