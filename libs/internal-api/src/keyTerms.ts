/** Refusals of a rotation, alike for the operator and for members. */
export const ROTATION_FAULTS = {
  key_not_in_use: {
    status: 409,
    message: 'Only a key in use can be rotated; this one is blocked, revoked or expired.',
  },
  key_has_two_secrets: {
    status: 409,
    message: 'The old secret of this key works until {oldEndsAt}, and a key has two secrets at most.',
  },
} as const;

/** Says whether an instant has a year that Postgres and JavaScript write with four digits in every time zone, with the words for others. */
export const LISTED_YEARS = [(text: string) => /^2\d{3}-/.test(text), 'must be of the years 2000 to 2999'] as const;
