/** What an answer without rows is about (reading R20b). */
import type { EmptyAnswer } from './port.ts'

/** Whether other accounts of the read have rows, or are still to be read. */
export const isPart = ({ accounts, among }: EmptyAnswer): boolean => accounts.length < among.length
