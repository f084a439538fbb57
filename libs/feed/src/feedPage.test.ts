import { describe, expect, it } from '@jest/globals';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { CompactSign } from 'jose';
import { signPage, verifyPage } from './feedPage.ts';

const KEY = generateSigningKey('global/control-plane');
const REGIONAL = generateSigningKey('us/auth');
const keys = publicKeysSchema.parse([KEY, REGIONAL].map(toPublicKey).join(','));
const key = signingKeySchema.parse(KEY);

const aCredit = (seq: number) => ({
  kind: 'credit' as const,
  seq,
  credit_id: `c${seq}`,
  workspace_id: 'ws_1',
  nano_usd: '5',
  note: '',
});
const aPage = (fields: Partial<Parameters<typeof signPage>[0]> = {}) => ({
  region: 'us' as const,
  epoch: 'e1',
  after: 0,
  last: 2,
  entries: [aCredit(1), aCredit(2)],
  ...fields,
});
const verify = (signed: string, fields: { region?: 'us' | 'eu'; after?: number } = {}) =>
  verifyPage(signed, { keys, region: 'us', after: 0, ...fields });

it('gives back what the control plane signed, amounts as integers', async () => {
  const page = await verify(await signPage(aPage(), key));
  expect(page).toEqual({ ...aPage(), entries: aPage().entries.map((entry) => ({ ...entry, nano_usd: 5n })) });
});

describe('refuses a page', () => {
  it('of another key', async () => {
    const foreign = signingKeySchema.parse(generateSigningKey('global/control-plane'));
    await expect(verify(await signPage(aPage(), foreign))).rejects.toThrow();
  });
  it('that a service of a region signed', async () => {
    await expect(verify(await signPage(aPage(), signingKeySchema.parse(REGIONAL)))).rejects.toThrow('no key of global');
  });
  it('with a changed byte, wherever it is', async () => {
    const signed = await signPage(aPage(), key);
    // The last character of a signature has bits of which no byte is made.
    for (let place = 0; place < signed.length - 1; place += 1) {
      const other = signed[place] === 'A' ? 'B' : 'A';
      const changed = `${signed.slice(0, place)}${other}${signed.slice(place + 1)}`;
      await expect(verify(changed).then(({ epoch }) => epoch)).rejects.toThrow();
    }
  });
  it('of another region', async () => {
    await expect(verify(await signPage(aPage({ region: 'eu' }), key))).rejects.toThrow('of the region eu');
  });
  it('of another place', async () => {
    await expect(verify(await signPage(aPage(), key), { after: 2 })).rejects.toThrow('begins behind 0');
  });
  it.each([[[aCredit(2)]], [[aCredit(1), aCredit(3)]], [[aCredit(2), aCredit(1)]]])(
    'that leaves out an entry or has them in another order',
    async (entries) => {
      await expect(verify(await signPage(aPage({ entries }), key))).rejects.toThrow('leaves out');
    },
  );
  it('with an entry that it does not know', async () => {
    const entries = [{ ...aCredit(1), kind: 'gift' }] as unknown as ReturnType<typeof aCredit>[];
    await expect(verify(await signPage(aPage({ entries }), key))).rejects.toThrow();
  });
  it('that is another kind of token of the same key', async () => {
    const token = await new CompactSign(new TextEncoder().encode(JSON.stringify(aPage())))
      .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: 'console+jwt' })
      .sign(key.privateKey);
    await expect(verify(token)).rejects.toThrow('not turnpike-feed');
  });
});
