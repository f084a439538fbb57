import { regionSchema } from '@turnpike/config/region';
import { browserOriginSchema, jsonSchema, serviceUrlSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';

/** The hosts of each region that the pages call or name, as JSON. */
export const regionHostsSchema = jsonSchema.pipe(
  z.partialRecord(regionSchema, z.strictObject({ console_url: browserOriginSchema, base_url: serviceUrlSchema })),
);
export type RegionHosts = z.infer<typeof regionHostsSchema>;
