import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { CompactSign, compactVerify } from 'jose';

/** The service that writes feeds, by the name that its keys bear. */
const ISSUER = 'global/control-plane';
const ALGORITHM = 'EdDSA';

/** Signs a document as JWS in its compact form. `type` tells it apart from all else that the same key signs. */
export async function signDocument(document: object, type: string, { id, privateKey }: SigningKey): Promise<string> {
  return new CompactSign(new TextEncoder().encode(JSON.stringify(document)))
    .setProtectedHeader({ alg: ALGORITHM, kid: id, typ: type })
    .sign(privateKey);
}

/** Returns the document as it was signed. Throws where it is of another key or another type, or not whole. */
export async function verifyDocument(signed: string, type: string, keys: PublicKey[]): Promise<unknown> {
  const { payload } = await compactVerify(
    signed,
    ({ kid, typ }) => {
      const key = keys.find(({ id, issuer }) => id === kid && issuer === ISSUER);
      if (!key) throw new Error(`the document is signed by ${kid ?? 'no key'}, which is no key of ${ISSUER}`);
      if (typ !== type) throw new Error(`the signed text is ${typ ?? 'of no type'}, not ${type}`);
      return key.publicKey;
    },
    { algorithms: [ALGORITHM] },
  );
  return JSON.parse(new TextDecoder().decode(payload));
}
