import { z } from 'zod';

/** A secret with an id, so that two are valid while one is rotated. */
export interface NamedSecret {
  id: string;
  secret: string;
}

/** `id:secret,id:secret` to its parts. The first is the one in use, the others are still accepted. */
export function parseSecrets(text: string, context: z.RefinementCtx): NamedSecret[] {
  const secrets = text.split(',').map((entry) => {
    const colon = entry.indexOf(':');
    return { id: entry.slice(0, colon), secret: entry.slice(colon + 1) };
  });
  for (const { id, secret } of secrets) {
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(id) || secret.length < 32) {
      context.addIssue({
        code: 'custom',
        message: 'must be id:secret pairs, comma separated, each secret at least 32 characters long',
      });
      return z.NEVER;
    }
  }
  if (new Set(secrets.map(({ id }) => id)).size < secrets.length) {
    context.addIssue({ code: 'custom', message: 'names an id twice; only the first would ever be used' });
    return z.NEVER;
  }
  return secrets;
}
