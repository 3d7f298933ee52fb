{# Pure builders. #}

{# Can the version be read? With `files` every file of it is opened (a count of rows alone would be answered from the log);
   without, only Delta is asked whether it would let us. #}
{% macro probe_version_sql(table, version, files=true) %}
begin
    declare exit handler for sqlexception begin select 'gone' as `verdict`; end;
    {% if files -%}
    select if(count(`_metadata`.`file_path`) >= 0, 'readable', '') as `verdict` from {{ table }} version as of {{ version }};
    {%- else -%}
    select 'readable' as `verdict` from (select count(*) from (select * from {{ table }} version as of {{ version }} limit 0));
    {%- endif %}
end
{%- endmacro %}


{# Delta looks for missing files before it changes anything; its error comes back as a word. #}
{% macro restore_sql(table, version, fence) %}
begin
    declare exit handler for sqlexception begin select 'failed' as ditto_verdict; end;
    {{ ditto.fenced_sql(ditto.immediate_sql(ditto.bare_restore_sql(table, version)), fence) }};
end
{%- endmacro %}


{% macro bare_restore_sql(table, version) %}
    {{ return('restore table ' ~ table ~ ' to version as of ' ~ version) }}
{% endmacro %}
