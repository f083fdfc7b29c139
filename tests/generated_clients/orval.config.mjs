// The address of a gateway is not in the document, so it comes from the caller's own fetch.
const mutator = { path: "./calls/own_fetch.ts", name: "ownFetch" };
export default {
  votegate: {
    input: "openapi.json",
    output: { target: "orval/client.ts", client: "fetch", override: { mutator } },
  },
};
