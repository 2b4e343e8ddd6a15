/**
 * Files and folders of the data directory that are themselves what is there. A link in the place of one is
 * refused: whoever may write to the directory could lead the process through it to a file of its user.
 */
import { closeSync, constants, fchmodSync, lstatSync, openSync, type Stats } from 'node:fs'

/** A link stands in the place of a file or folder; the message names it and what to do. */
export class SymlinkError extends Error {
  override readonly name = 'SymlinkError'
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** Flags to read a file: a link is an error, and a pipe is not waited for. Windows has neither flag. */
export const plainFileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

/**
 * Undefined when nothing is there.
 * @throws SymlinkError
 */
export function statPlain(path: string): Stats | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() === true)
    throw new SymlinkError(
      `${path} is a link, which is not followed: put what it leads to in its place`,
    )
  return found
}

/** By descriptor, so that a link which has just taken the place of the file is not followed either. */
export function setMode(path: string, mode: number): void {
  const file = openSync(path, plainFileFlags)
  try {
    fchmodSync(file, mode)
  } finally {
    closeSync(file)
  }
}
