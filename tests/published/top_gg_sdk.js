// The Webhook class of @top-gg/sdk on Express, as its documentation shows it; each vote is a line of output.
"use strict";
const express = require("express");
const { Webhook } = require("@top-gg/sdk");

const webhook = new Webhook(process.argv[2]);
const app = express();
app.post(
  "/votes",
  webhook.listener((vote) => console.log(JSON.stringify(vote))),
);
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
