import { describe, expect, it } from '@jest/globals';
import {
  generateSigningKey,
  publicKeysSchema,
  type SigningKey,
  signingKeySchema,
  toPublicKey,
} from '@turnpike/config/internalKeys';
import { type JWTPayload, SignJWT } from 'jose';
import { aFleet } from './aFleet.ts';
import { createClientAddressSigner, signClientAddress, verifyClientAddress } from './clientAddress.ts';
import { createTokenIssuer, createTokenVerifier, INTERNAL_TOKEN_HEADER } from './internalToken.ts';

const fleet = aFleet();
const edge = fleet.keyOf('edge');
const SKEW_MS = 300_000;
const NOW = 1_790_000_000_000;
const ROUTE = 'GET /internal/keys/:key_id';

describe('a token between services', () => {
  const tokenOf = async ({ key = edge, at = NOW, user = undefined as string | undefined, route = ROUTE } = {}) => {
    const issue = createTokenIssuer({ key, now: () => at, ...(user !== undefined && { user }) });
    return (await issue('auth', route))[INTERNAL_TOKEN_HEADER] ?? '';
  };
  const verify = async (
    token: unknown,
    { audience = 'us/auth', at = NOW, keys = fleet.publicKeys, route = ROUTE } = {},
  ) => (await createTokenVerifier({ audience, keys, now: () => at })(token, route))?.service;

  it('names the service that made it, to the service and the route that it is for', async () => {
    const token = await tokenOf();
    expect(await verify(token)).toBe('edge');
    expect(await verify(token, { audience: 'us/catalog' })).toBeUndefined();
    expect(await verify(token, { audience: 'eu/auth' })).toBeUndefined();
    expect(await verify(token, { route: 'DELETE /internal/keys/:key_id' })).toBeUndefined();
  });

  it('names the person behind the operator', async () => {
    const token = await tokenOf({ key: fleet.keyOf('operator'), user: 'alice' });
    const read = createTokenVerifier({ audience: 'us/auth', keys: fleet.publicKeys, now: () => NOW });
    expect(await read(token, ROUTE)).toEqual({ service: 'operator', scope: 'us', user: 'alice' });
  });

  it('cannot be made for another service, or by another region', async () => {
    const sign = (key: SigningKey, claims: JWTPayload) =>
      new SignJWT({ route: ROUTE, aud: 'us/auth', iat: NOW / 1_000, exp: NOW / 1_000 + 30, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: 'turnpike-internal+jwt' })
        .sign(key.privateKey);
    expect(await verify(await sign(edge, { iss: 'us/edge' }))).toBe('edge');
    expect(await verify(await sign(edge, { iss: 'us/operator' }))).toBeUndefined();
    expect(await verify(await sign({ ...edge, id: 'us/operator:k1' }, { iss: 'us/operator' }))).toBeUndefined();
    expect(await verify(await tokenOf({ key: aFleet('eu').keyOf('edge') }))).toBeUndefined();
  });

  it('is of its own kind and its own algorithm', async () => {
    const claims = { iss: 'us/edge', aud: 'us/auth', route: ROUTE, iat: NOW / 1_000, exp: NOW / 1_000 + 30 };
    const other = new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid: edge.id, typ: 'console+jwt' });
    expect(await verify(await other.sign(edge.privateKey))).toBeUndefined();
    const secret = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: edge.id, typ: 'turnpike-internal+jwt' });
    expect(await verify(await secret.sign(new Uint8Array(32)))).toBeUndefined();
  });

  it.each([
    ['five minutes behind, at the end of its 30 s', 30_000 + SKEW_MS - 1, 'edge'],
    ['five minutes ahead', -SKEW_MS, 'edge'],
    ['further behind: a replay finds no open door later than this', 30_000 + SKEW_MS, undefined],
    ['further ahead: it would be good for as long', -SKEW_MS - 1, undefined],
  ])('is judged so where the clock of its maker is %s', async (_case, laterMs, service) => {
    expect(await verify(await tokenOf(), { at: NOW + laterMs })).toBe(service);
  });

  it('ends for a service that has verified it before, too', async () => {
    let at = NOW;
    const read = createTokenVerifier({ audience: 'us/auth', keys: fleet.publicKeys, now: () => at });
    const token = await tokenOf();
    expect(await read(token, ROUTE)).toMatchObject({ service: 'edge' });
    expect(await read(token, 'GET /internal/keys')).toBeUndefined();
    at = NOW + 30_000 + SKEW_MS;
    expect(await read(token, ROUTE)).toBeUndefined();
  });

  it('is good by both keys of its maker while they are rotated, and by no other', async () => {
    const [former, current] = ['k1', 'k2'].map((id) => generateSigningKey('us/edge', id));
    const keys = publicKeysSchema.parse([former, current].map((key) => toPublicKey(key ?? '')).join(','));
    for (const key of [former, current])
      expect(await verify(await tokenOf({ key: signingKeySchema.parse(key) }), { keys })).toBe('edge');
    expect(await verify(await tokenOf(), { keys })).toBeUndefined();
  });

  it('is refused when a character of it is changed, and so is anything else', async () => {
    const token = await tokenOf();
    // The last character of a signature holds two bits that mean nothing.
    for (let position = 0; position < token.length - 1; position += 1) {
      const changed = token.slice(0, position) + (token[position] === 'x' ? 'y' : 'x') + token.slice(position + 1);
      expect(await verify(changed)).toBeUndefined();
    }
    for (const other of [undefined, '', 'v1', 7, [token, token], `${token}.`, 'x'.repeat(10_000)])
      expect(await verify(other)).toBeUndefined();
  });

  it('is made anew before it ends, and after the clock of its maker was set right', async () => {
    let at = NOW;
    const issue = createTokenIssuer({ key: edge, now: () => at });
    const first = await issue('auth', ROUTE);
    at += 14_000;
    expect(await issue('auth', ROUTE)).toBe(first);
    expect(await issue('auth', 'GET /internal/keys')).not.toEqual(first);
    at += 2_000;
    expect(await issue('auth', ROUTE)).not.toEqual(first);
    at -= 3_600_000;
    expect(await verify((await issue('auth', ROUTE))[INTERNAL_TOKEN_HEADER], { at })).toBe('edge');
  });
});

describe('a client address the edge vouches for', () => {
  const verify = (value: unknown, at = NOW) => verifyClientAddress(value, { keys: fleet.publicKeys, now: () => at });

  it.each(['203.0.113.7', '2001:db8::1'])(
    'is believed for 30 s where clocks are up to five minutes apart: %s',
    (address) => {
      const value = signClientAddress(address, { key: edge, now: () => NOW });
      expect(verify(value)).toBe(address);
      expect(verify(value, NOW - SKEW_MS)).toBe(address);
      expect(verify(value, NOW + 30_000 + SKEW_MS - 1)).toBe(address);
      expect(verify(value, NOW + 30_000 + SKEW_MS)).toBeUndefined();
    },
  );

  it('is signed anew while half of its time is left, by a clock that was set back too', () => {
    let nowMs = NOW;
    const signAddress = createClientAddressSigner({ key: edge, now: () => nowMs });
    const first = signAddress('203.0.113.7');
    expect(signAddress('203.0.113.8')).not.toBe(first);
    nowMs += 14_999;
    expect(signAddress('203.0.113.7')).toBe(first);
    nowMs += 1;
    expect(signAddress('203.0.113.7')).toBe(signClientAddress('203.0.113.7', { key: edge, now: () => nowMs }));
    nowMs -= 3_600_000;
    expect(signAddress('203.0.113.7')).toBe(signClientAddress('203.0.113.7', { key: edge, now: () => nowMs }));
  });

  it('is not believed when another address is put in, of another service, or a token in its place', async () => {
    const value = signClientAddress('203.0.113.7', { key: edge, now: () => NOW });
    expect(verify(value.replace('203.0.113.7', '203.0.113.8'))).toBeUndefined();
    expect(verify(signClientAddress('203.0.113.7', { key: fleet.keyOf('auth'), now: () => NOW }))).toBeUndefined();
    const token = await createTokenIssuer({ key: edge, now: () => NOW })('auth', ROUTE);
    for (const other of [undefined, '', '203.0.113.7', token[INTERNAL_TOKEN_HEADER]])
      expect(verify(other)).toBeUndefined();
  });
});
