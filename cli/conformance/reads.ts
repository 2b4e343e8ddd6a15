/** The operations of the specification: a request for events would leave a consumer behind on the server. */
import { type Operation, operations, type RestName } from '#contract/operations.ts'

export type CheckedRead = Exclude<RestName, 'list_events'>

export const reads = operations.filter(
  (operation): operation is Operation & { readonly name: CheckedRead } =>
    operation.name !== 'list_events',
)
