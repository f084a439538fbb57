/** Kinds of output and input of models. Usage is grouped by them. */
export const MODALITIES = ['text', 'image', 'audio', 'video'] as const;
export type Modality = (typeof MODALITIES)[number];

/** Billing units of media; the catalog's price is for one. Text is billed by tokens. */
export const MEDIA_BILLING_UNITS = ['image', 'second', 'character', 'minute'] as const;
export type MediaBillingUnit = (typeof MEDIA_BILLING_UNITS)[number];

export const BILLING_UNITS = ['token', ...MEDIA_BILLING_UNITS] as const;
export type BillingUnit = (typeof BILLING_UNITS)[number];

/** The measurable units of each modality, which are the allowed billing units of its models. */
export const UNITS_OF: Readonly<Record<Modality, readonly BillingUnit[]>> = {
  text: ['token'],
  image: ['image'],
  audio: ['second', 'character', 'minute'],
  video: ['second', 'minute'],
};
