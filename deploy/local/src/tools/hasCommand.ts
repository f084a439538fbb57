import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether a command is on the path of this process. */
export function hasCommand(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
