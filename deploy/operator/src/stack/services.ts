import { entryOf, forEachOf, INTERNAL_SERVICES, type InternalService } from '@turnpike/config/services';

/** The variable that names the internal listener of each service. */
export const SERVICE_VARIABLES = forEachOf(
  INTERNAL_SERVICES,
  (service) => `TURNPIKE_${entryOf(service).settings}_INTERNAL_URL` as const,
);

export type ServiceName = InternalService;
