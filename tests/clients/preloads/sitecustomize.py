"""Lets discord.py connect to the address in `CHAT` instead of the chat platform's."""

import os

import discord
import yarl

discord.http.Route.BASE = f"http://{os.environ['CHAT']}/api/v10"
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"ws://{os.environ['CHAT']}/socket/")
