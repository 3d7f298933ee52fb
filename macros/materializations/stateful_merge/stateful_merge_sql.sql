{# Pure builders. #}

{# Opens every file of the version: a count of rows alone would be answered from the log. Delta itself finds a missing file
   only while it restores, in an error that no handler catches. #}
{% macro probe_version_sql(table, version) %}
begin
    declare exit handler for sqlexception begin select 'gone' as `verdict`; end;
    select if(count(`_metadata`.`file_path`) >= 0, 'readable', '') as `verdict` from {{ table }} version as of {{ version }};
end
{%- endmacro %}
