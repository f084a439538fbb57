import { describe, expect, it } from '@jest/globals';
import { signClientAddress, verifyClientAddress } from './clientAddress.ts';
import { createTokenIssuer, INTERNAL_TOKEN_HEADER, verifyInternalToken } from './internalToken.ts';

const current = { id: 'k2', secret: 'the secret in use, of 32 characters' };
const former = { id: 'k1', secret: 'the secret before, of 32 characters' };
const keys = [current, former];
const NOW = 1_790_000_000_000;

describe('a token between services', () => {
  const tokenOf = (signing = keys, at = NOW): string =>
    createTokenIssuer({ service: 'edge', keys: signing, now: () => at })('auth')[INTERNAL_TOKEN_HEADER] ?? '';
  const verify = (token: unknown, { audience = 'auth', at = NOW } = {}) =>
    verifyInternalToken(token, { audience, keys, now: () => at });

  it('names the service that made it, to the service it is for, for 30 s', () => {
    expect(verify(tokenOf())).toBe('edge');
    expect(verify(tokenOf(), { at: NOW + 29_999 })).toBe('edge');
    expect(verify(tokenOf(), { at: NOW + 30_000 })).toBeUndefined();
    expect(verify(tokenOf(), { audience: 'catalog' })).toBeUndefined();
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
});

describe('a client address the edge vouches for', () => {
  const verify = (value: unknown, at = NOW) => verifyClientAddress(value, { keys, now: () => at });

  it.each(['203.0.113.7', '2001:db8::1'])('is believed for 30 s: %s', (address) => {
    const value = signClientAddress(address, { keys, now: () => NOW });
    expect(verify(value)).toBe(address);
    expect(verify(value, NOW + 30_000)).toBeUndefined();
  });

  it('is not believed when another address is put in, or a service’s token in its place', () => {
    const value = signClientAddress('203.0.113.7', { keys, now: () => NOW });
    expect(verify(value.replace('203.0.113.7', '203.0.113.8'))).toBeUndefined();
    const token = createTokenIssuer({ service: 'edge', keys, now: () => NOW })('auth')[INTERNAL_TOKEN_HEADER];
    for (const other of [undefined, '', '203.0.113.7', token]) expect(verify(other)).toBeUndefined();
  });
});
