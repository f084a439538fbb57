import { jobsConsoleApi } from './console/jobs.ts';
import { keysConsoleApi } from './console/keys.ts';
import { modelsConsoleApi } from './console/models.ts';
import { usageConsoleApi } from './console/usage.ts';

/** All routes of a console host. */
export const CONSOLE_APIS = [keysConsoleApi, usageConsoleApi, jobsConsoleApi, modelsConsoleApi] as const;
/** The services behind a console host. */
export type ConsoleService = (typeof CONSOLE_APIS)[number]['service'];
