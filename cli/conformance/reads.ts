/** The operations of the specification: a request for events would leave a consumer behind on the server. */
import { type Operation, operations, type ReadName } from '#contract/operations.ts'

export const reads = operations.filter(
  (operation): operation is Operation & { readonly name: ReadName } =>
    operation.name !== 'list_events',
)
