/** The version of this software: the one that package.json names. */
import manifest from '../package.json' with { type: 'json' }

export const version: string = manifest.version
