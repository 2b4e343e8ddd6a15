/** The only file of the command that reads the environment of its process. */
export const environment: Readonly<Record<string, string | undefined>> = process.env
