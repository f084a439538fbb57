import { commonConfig } from '@turnpike/config/commonConfig';
import { z } from 'zod';

export const configSchema = z.object(commonConfig);
