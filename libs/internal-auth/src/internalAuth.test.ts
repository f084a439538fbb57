import { describe, expect, it } from '@jest/globals';
import { createClientAddressSigner, signClientAddress, verifyClientAddress } from './clientAddress.ts';
import { createTokenIssuer, INTERNAL_TOKEN_HEADER, verifyInternalToken } from './internalToken.ts';
import { sign } from './signature.ts';

const current = { id: 'k2', secret: 'the secret in use, of 32 characters' };
const former = { id: 'k1', secret: 'the secret before, of 32 characters' };
const keys = [current, former];
const SKEW_MS = 300_000;
const NOW = 1_790_000_000_000;

describe('a token between services', () => {
  const tokenOf = (signing = keys, at = NOW): string =>
    createTokenIssuer({ service: 'edge', keys: signing, now: () => at })('auth')[INTERNAL_TOKEN_HEADER] ?? '';
  const verify = (token: unknown, { audience = 'auth', at = NOW } = {}) =>
    verifyInternalToken(token, { audience, keys, now: () => at });

  it('names the service that made it, to the service it is for', () => {
    expect(verify(tokenOf())).toBe('edge');
    expect(verify(tokenOf(), { audience: 'catalog' })).toBeUndefined();
  });

  it.each([
    ['five minutes behind, at the end of its 30 s', 30_000 + SKEW_MS - 1, 'edge'],
    ['five minutes ahead', -SKEW_MS, 'edge'],
    ['further behind: a replay finds no open door later than this', 30_000 + SKEW_MS, undefined],
    ['further ahead: it would be good for as long', -SKEW_MS - 1, undefined],
  ])('is judged so where the clock of its maker is %s', (_case, laterMs, service) => {
    expect(verify(tokenOf(), { at: NOW + laterMs })).toBe(service);
  });

  it('is refused with an end that is no instant', () => {
    for (const end of ['', 'never', 'NaN', 'Infinity', '-Infinity']) {
      const claims = `v1.${current.id}.edge.auth.${end}`;
      expect(verify(`${claims}.${sign(claims, current.secret)}`)).toBeUndefined();
    }
  });

  it('is good under the former key while keys are rotated, and under no other', () => {
    expect(verify(tokenOf([former]))).toBe('edge');
    expect(verify(tokenOf([{ id: 'k2', secret: 'a stranger’s secret of 32 characters' }]))).toBeUndefined();
    expect(verify(tokenOf([{ id: 'k9', secret: current.secret }]))).toBeUndefined();
  });

  it('is refused when a character of it is changed, and so is anything else', () => {
    const token = tokenOf();
    for (let position = 0; position < token.length; position += 1) {
      const changed = token.slice(0, position) + (token[position] === 'x' ? 'y' : 'x') + token.slice(position + 1);
      expect(verify(changed)).toBeUndefined();
    }
    for (const other of [undefined, '', 'v1', 7, [token, token], `${token}.`, 'x'.repeat(10_000)])
      expect(verify(other)).toBeUndefined();
  });

  it('is made anew before it ends', () => {
    let at = NOW;
    const headers = createTokenIssuer({ service: 'edge', keys, now: () => at });
    const first = headers('auth')[INTERNAL_TOKEN_HEADER];
    at += 14_000;
    expect(headers('auth')[INTERNAL_TOKEN_HEADER]).toBe(first);
    at += 2_000;
    expect(headers('auth')[INTERNAL_TOKEN_HEADER]).not.toBe(first);
  });

  it('is made anew after the clock of its maker was set right', () => {
    let at = NOW + 3_600_000;
    const headers = createTokenIssuer({ service: 'edge', keys, now: () => at });
    expect(verify(headers('auth')[INTERNAL_TOKEN_HEADER])).toBeUndefined();
    at = NOW;
    expect(verify(headers('auth')[INTERNAL_TOKEN_HEADER])).toBe('edge');
  });
});

describe('a client address the edge vouches for', () => {
  const verify = (value: unknown, at = NOW) => verifyClientAddress(value, { keys, now: () => at });

  it.each(['203.0.113.7', '2001:db8::1'])(
    'is believed for 30 s where clocks are up to five minutes apart: %s',
    (address) => {
      const value = signClientAddress(address, { keys, now: () => NOW });
      expect(verify(value)).toBe(address);
      expect(verify(value, NOW - SKEW_MS)).toBe(address);
      expect(verify(value, NOW + 30_000 + SKEW_MS - 1)).toBe(address);
      expect(verify(value, NOW + 30_000 + SKEW_MS)).toBeUndefined();
    },
  );

  it('is signed anew while half of its time is left, by a clock that was set back too', () => {
    let nowMs = NOW;
    const signAddress = createClientAddressSigner({ keys, now: () => nowMs });
    const first = signAddress('203.0.113.7');
    expect(signAddress('203.0.113.8')).not.toBe(first);
    nowMs += 14_999;
    expect(signAddress('203.0.113.7')).toBe(first);
    nowMs += 1;
    expect(signAddress('203.0.113.7')).toBe(signClientAddress('203.0.113.7', { keys, now: () => nowMs }));
    nowMs -= 3_600_000;
    expect(signAddress('203.0.113.7')).toBe(signClientAddress('203.0.113.7', { keys, now: () => nowMs }));
  });

  it('is not believed when another address is put in, or a service’s token in its place', () => {
    const value = signClientAddress('203.0.113.7', { keys, now: () => NOW });
    expect(verify(value.replace('203.0.113.7', '203.0.113.8'))).toBeUndefined();
    const token = createTokenIssuer({ service: 'edge', keys, now: () => NOW })('auth')[INTERNAL_TOKEN_HEADER];
    for (const other of [undefined, '', '203.0.113.7', token]) expect(verify(other)).toBeUndefined();
  });
});
