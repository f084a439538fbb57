/** What a model makes, or takes in place of text: what usage is grouped by. */
export const MODALITIES = ['text', 'image', 'audio', 'video'] as const;
export type Modality = (typeof MODALITIES)[number];

/** What media are billed by, as the catalog prices one of it: text is billed by tokens. */
export const MEDIA_BILLING_UNITS = ['image', 'second', 'character', 'minute'] as const;
export type MediaBillingUnit = (typeof MEDIA_BILLING_UNITS)[number];

export const BILLING_UNITS = ['token', ...MEDIA_BILLING_UNITS] as const;
export type BillingUnit = (typeof BILLING_UNITS)[number];

/** What can be measured of each modality, and so what its models may be billed by. */
export const UNITS_OF: Readonly<Record<Modality, readonly BillingUnit[]>> = {
  text: ['token'],
  image: ['image'],
  audio: ['second', 'character', 'minute'],
  video: ['second', 'minute'],
};
