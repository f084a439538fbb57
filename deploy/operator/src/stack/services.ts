import { entryOf, forEachOf, GLOBAL_SERVICES, INTERNAL_SERVICES } from '@turnpike/config/services';

/** The services that the operator asks: those of a region, then those of all regions. */
export const OPERATED_SERVICES = [...INTERNAL_SERVICES, ...GLOBAL_SERVICES] as const;
export type ServiceName = (typeof OPERATED_SERVICES)[number];

/** The variable that names the internal listener of each service. */
export const SERVICE_VARIABLES = forEachOf(
  OPERATED_SERVICES,
  (service) => `TURNPIKE_${entryOf(service).settings}_INTERNAL_URL` as const,
);
