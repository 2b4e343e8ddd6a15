/**
 * Reads a stored row that may be damaged: it was moved, or its bytes were changed.
 * Such a row is no credential: its agent is told to connect again, which needs no operator.
 */
import { SealError } from '#store/seal.ts'

/** Null: there is no such row, or it does not open, which is reported. */
export async function openRow<Row>(
  find: () => Promise<Row | null>,
  onDamaged: (error: Error) => void,
): Promise<Row | null> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    onDamaged(error)
    return null
  }
}
