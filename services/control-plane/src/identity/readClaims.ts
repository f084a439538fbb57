import { address, displayName } from '@turnpike/console-api/account/accountRoute';
import { z } from 'zod';

/** A field that we would not take of a person either counts as absent. */
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  email: z.optional(address).catch(undefined),
  email_verified: z.boolean().optional().catch(undefined),
  name: z.optional(displayName).catch(undefined),
  /** When the user was asked, s since 1970. */
  auth_time: z.number().optional().catch(undefined),
});
export type Claims = z.infer<typeof claimsSchema>;

/** Reads the claims of an identity provider about a user. Throws if they name no user. */
export const readClaims = (claims: unknown): Claims => claimsSchema.parse(claims);
