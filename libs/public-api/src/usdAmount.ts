import { z } from 'zod';

/** An amount as clients read it: USD, exact to the nano-dollar. */
export const usdAmount = z.number().min(0);

/** An instant as clients read it: RFC 3339, UTC, with milliseconds. */
export const instant = z.iso.datetime();

/** The charge of a call, as its record has it. */
export const costField = usdAmount.meta({
  description: 'The charge in USD, the same as `total_spend` of the call’s record.',
});

export const currencyField = z.literal('USD').meta({ description: 'Every amount is in USD.' });
export const generatedAtField = instant.meta({ description: 'When this was read.' });
