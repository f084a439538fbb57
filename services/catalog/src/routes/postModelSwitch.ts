import { toChangeLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import type { ModelChange, SwitchModel } from '../catalog/switchModel.ts';

/** POST /internal/models/{model_id}/disable and /enable, for the operator. Answers with the catalog version it is part of. */
export function postModelSwitch(
  change: ModelChange,
  { log, switchModel }: { log: Logger; switchModel: SwitchModel },
): RequestHandler {
  return async (req, res) => {
    const modelId = String(req.params.model_id);
    const { version } = await switchModel(modelId, change, toChangeLog(log, res));
    res.json({ model: modelId, version });
  };
}
