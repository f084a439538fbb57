import { z } from 'zod';

/** The regions of the service. Each is a stack of its own that shares nothing with the other. */
export const REGIONS = ['us', 'eu'] as const;
export const regionSchema = z.enum(REGIONS);
export type Region = (typeof REGIONS)[number];

/** The scope of a process: one region, or the layer above all regions. */
export type Scope = Region | 'global';
