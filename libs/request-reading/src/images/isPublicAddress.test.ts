import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isPublicAddress } from './isPublicAddress.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** First and last address of each range, with the two beside it where those are public. */
const RANGES: [name: string, first: string, last: string, beside: string[]][] = [
  ['this network', '0.0.0.0', '0.255.255.255', ['1.0.0.0']],
  ['private 10/8', '10.0.0.0', '10.255.255.255', ['9.255.255.255', '11.0.0.0']],
  ['carrier NAT', '100.64.0.0', '100.127.255.255', ['100.63.255.255', '100.128.0.0']],
  ['loopback', '127.0.0.0', '127.255.255.255', ['126.255.255.255', '128.0.0.0']],
  ['link-local', '169.254.0.0', '169.254.255.255', ['169.253.255.255', '169.255.0.0']],
  ['private 172.16/12', '172.16.0.0', '172.31.255.255', ['172.15.255.255', '172.32.0.0']],
  ['protocol assignments', '192.0.0.0', '192.0.0.255', ['191.255.255.255', '192.0.1.0']],
  ['documentation 1', '192.0.2.0', '192.0.2.255', ['192.0.1.255', '192.0.3.0']],
  ['6to4 relays', '192.88.99.0', '192.88.99.255', ['192.88.98.255', '192.88.100.0']],
  ['private 192.168/16', '192.168.0.0', '192.168.255.255', ['192.167.255.255', '192.169.0.0']],
  ['benchmarks', '198.18.0.0', '198.19.255.255', ['198.17.255.255', '198.20.0.0']],
  ['documentation 2', '198.51.100.0', '198.51.100.255', ['198.51.99.255', '198.51.101.0']],
  ['documentation 3', '203.0.113.0', '203.0.113.255', ['203.0.112.255', '203.0.114.0']],
  ['multicast and beyond', '224.0.0.0', '255.255.255.255', ['223.255.255.255']],
  ['a cloud of its own', '168.63.129.16', '168.63.129.16', ['168.63.129.15', '168.63.129.17']],
  ['below IPv6 unicast', '::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', ['2000::']],
  ['IPv6 protocol assignments', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', ['2000:ffff::', '2001:200::']],
  ['IPv6 documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', ['2001:db7::', '2001:db9::']],
  ['IPv6 documentation 2', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', ['3ffe::', '3fff:1000::']],
  ['beyond IPv6 unicast', '4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', ['3fff:ffff::']],
];
const IPV4_RANGES = RANGES.filter(([, first]) => first.includes('.'));

/** The same address in each form of IPv6 that carries one of IPv4. */
function carriersOf(ipv4: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  const [high, low] = [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
  return [
    `::ffff:${ipv4}`,
    `::FFFF:${high}:${low}`,
    `64:ff9b::${ipv4}`,
    `64:ff9b::${high}:${low}`,
    `2002:${high}:${low}::1`,
  ];
}

it.each(RANGES)('%s is not public, and what lies beside it is', (_name, first, last, beside) => {
  for (const address of [first, last]) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  for (const address of beside) expect([address, isPublicAddress(address)]).toEqual([address, true]);
});

it.each(IPV4_RANGES)('%s is judged alike where IPv6 carries it', (_name, first, last, beside) => {
  for (const carrier of [first, last].flatMap(carriersOf))
    expect([carrier, isPublicAddress(carrier)]).toEqual([carrier, false]);
  for (const carrier of beside.flatMap(carriersOf))
    expect([carrier, isPublicAddress(carrier)]).toEqual([carrier, true]);
});

it.each([
  '::1',
  '100::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '64:ff9b:1::8.8.8.8',
  '5f00::1',
  '::8.8.8.8',
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));

it.each([
  '',
  'localhost',
  '8.8.8',
  '8.8.8.8.',
  ' 8.8.8.8',
  '8.8.8.8/8',
  '2606:4700::1111%eth0',
  '[2606:4700::1111]',
  '0x8.8.8.8',
])('%j is no address, and so not public', (text) => expect(isPublicAddress(text)).toBe(false));

it.each(['8.8.8.8', '1.1.1.1', '93.184.215.14', '2606:4700::1111', '2A00:1450:4001:82A::200E'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

describe('for any address', () => {
  const toNumber = (ipv4: string) => ipv4.split('.').reduce((number, part) => number * 256 + Number(part), 0);
  const bounds = IPV4_RANGES.map(([, first, last]) => [toNumber(first), toNumber(last)] as const);

  it('of IPv4, it is public exactly where no range holds its number, in IPv6 too', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const number = toNumber(address);
        const expected = !bounds.some(([first, last]) => first <= number && number <= last);
        expect([address, ...carriersOf(address)].map(isPublicAddress)).toEqual(new Array(6).fill(expected));
      }),
      { numRuns: 2_000 },
    );
  });

  it('of IPv6 outside 2000::/3 that carries none of IPv4, it is not public', () => {
    const aGroup = fc.nat(0xffff);
    fc.assert(
      fc.property(fc.nat(0xffff), fc.array(aGroup, { minLength: 7, maxLength: 7 }), (first, rest) => {
        fc.pre(first >>> 13 !== 1 && first !== 0 && first !== 0x64);
        expect(isPublicAddress([first, ...rest].map((group) => group.toString(16)).join(':'))).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });
});
