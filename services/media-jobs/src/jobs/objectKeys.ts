/** All objects of a job lie in its folder, so that what is listed there is what is left of it. */
export const folderOf = (jobId: string): string => `jobs/${jobId}/`;
/** The key of its texts: whoever removes it has destroyed them, in every backup. */
export const textKeyOf = (jobId: string): string => `${folderOf(jobId)}text.key`;
export const inputKeyOf = (jobId: string, extension: string): string => `${folderOf(jobId)}input.${extension}`;

/** An output's, of one attempt at storing it: nobody who comes late overwrites what another worker has stored. */
export const outputKeyOf = (
  jobId: string,
  { version, tries, index, extension }: { version: number; tries: number; index: number; extension: string },
): string => `${folderOf(jobId)}${version}-${tries}/${index}.${extension}`;
